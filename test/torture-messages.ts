/**
 * Messages modelled on the cases of RFC 4475, written anew from its descriptions; `name` and `section` are the RFC's.
 * `{via}` stands for a Via line value that can be answered, without its branch.
 */
export interface TortureCase {
  name: string;
  section: string;
  /** Lines of the head, the empty line, then the body; octets as latin1. */
  text: string;
  /** Statuses any of which is right over UDP; none: it must stay unanswered. */
  udp: readonly number[];
  /** Over TCP where it differs. `closes`: the connection is closed after that; `waits`: nothing happens until its time is up. */
  tcp?: readonly number[] | "waits";
  closes?: boolean;
}

const SDP = "v=0\no=t 29739 7272939 IN IP4 192.0.2.5\ns=-\nc=IN IP4 192.0.2.5\nt=0 0\nm=audio 49217 RTP/AVP 0\n";

interface Parts {
  start: string;
  via?: string;
  from?: string;
  to?: string;
  callId?: string;
  cseq?: string;
  more?: readonly string[];
  length?: string;
  body?: string;
}

/** A message from its parts; what is not given is well formed. */
function message(name: string, { start, via, from, to, callId, cseq, more = [], length, body = "" }: Parts): string {
  const sent = body.replaceAll("\n", "\r\n");
  const head = [
    start,
    via ?? `Via: {via};branch=z9hG4bK-${name}`,
    from ?? "From: <sip:tester@example.net>;tag=f1",
    to ?? "To: <sip:user@example.com>",
    callId ?? `Call-ID: ${name}.7@example.net`,
    cseq ?? `CSeq: 60 ${start.split(" ", 1)[0]}`,
    "Max-Forwards: 70",
    ...more,
    length ?? `Content-Length: ${sent.length}`,
  ].filter((line) => line !== "");
  return `${head.join("\r\n")}\r\n\r\n${sent}`;
}

const CONTACT = "Contact: <sip:tester@127.0.0.1>";
const AS_SDP = "Content-Type: application/sdp";
/** The application refuses every call with 404, so 404 says that an INVITE was taken. */
const TAKEN = [404];

function entry(name: string, section: string, parts: Parts, udp: readonly number[], more: Partial<TortureCase> = {}): TortureCase {
  return { name, section, text: message(name, parts), udp, ...more };
}

const invite = (uri = "sip:user@example.com") => `INVITE ${uri} SIP/2.0`;
const options = (uri = "sip:user@example.com") => `OPTIONS ${uri} SIP/2.0`;
const register = (uri = "sip:example.com") => `REGISTER ${uri} SIP/2.0`;

export const TORTURE: readonly TortureCase[] = [
  // 3.1.1: valid messages
  entry(
    "wsinv",
    "3.1.1.1",
    {
      start: invite("sip:user@chair.example.com;unknownparam"),
      via: "Via  : SIP  /   2.0\r\n /{transport}\r\n    127.0.0.1:{port};rport;branch=390skdjuw",
      from: 'from   : "J Tester \\\\\\""       <sip:tester@example.com>\r\n  ;\r\n  tag = 98asjd8',
      to: "TO :\r\n sip:user@chair.example.com ;   tag    = 1918181833n",
      cseq: "cseq: 0009\r\n  INVITE",
      more: [
        "s :",
        "NewFangledHeader:   newfangled value\r\n continued newfangled value",
        "UnknownHeaderWithUnusualValue: ;;,,;;,;",
        AS_SDP,
        "Route:\r\n <sip:services.example.com;lr;unknownwith=value;unknown-no-value>",
        "v:  SIP  / 2.0  / TCP     spindle.example.com   ;\r\n  branch  =   z9hG4bK9ikj8  ,\r\n SIP  /    2.0   / UDP  192.168.255.111   ; branch=\r\n z9hG4bK30239",
        'm:"Quoted string \\"\\"" <sip:tester@example.com> ; newparam =\r\n      newvalue ;\r\n  secondparam ; q = 0.33',
      ],
      body: SDP,
    },
    [481],
  ),
  entry(
    "intmeth",
    "3.1.1.2",
    {
      start:
        "!interesting-Method0123456789_*+`.%indeed'~ sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*:&it+has=1,weird!*pas$wo~d_too.(doesn't-it)@example.com SIP/2.0",
      to: 'To: "BEL:\\\x07 NUL:\\\x00 DEL:\\\x7F" <sip:1_unusual.URI~(to-be!sure)&isn\'t+it$/crazy?,/;;*@example.com>',
      from: "From: token1~` token2'+_ token3*%!.- <sip:mundane@example.com>;fromParam''~+*_!.-%=\"\xd1\x80\xd0\xb0\";tag=_token~1'+`*%!-.",
      more: ["extensionHeader-!.%*+_`'~:\xef\xbb\xbf\xe5\xa4\xa7\xe5\x81\x9c\xe9\x9b\xbb"],
    },
    [501],
  ),
  entry(
    "esc01",
    "3.1.1.3",
    {
      start: invite("sip:sips%3Auser%40example.com@example.net"),
      to: "To: sip:%75se%72@example.com",
      from: "From: <sip:I%20have%20spaces@example.net>;tag=938",
      more: ["Contact:\r\n <sip:cal%6Cer@127.0.0.1;%6C%72;n%61me=v%61lue%25%34%31>", AS_SDP],
      body: SDP,
    },
    TAKEN,
  ),
  entry(
    "escnull",
    "3.1.1.4",
    {
      start: register(),
      to: "To: sip:null-%00-null@example.com",
      from: "From: sip:null-%00-null@example.com;tag=839923423",
      more: ["Contact: <sip:%00@host5.example.com>", "Contact: <sip:%00%00@host5.example.com>"],
    },
    [405],
  ),
  entry(
    "esc02",
    "3.1.1.5",
    { start: "RE%47IST%45R sip:registrar.example.com SIP/2.0", more: ["Contact: <sip:alias1@host1.example.com>"] },
    [501],
  ),
  entry("lwsdisp", "3.1.1.6", { start: options(), from: "From: caller<sip:caller@example.com>;tag=323" }, [200]),
  entry(
    "longreq",
    "3.1.1.7",
    {
      start: invite(),
      to: `To: "I have a user name of ${"extreme ".repeat(30)}proportion" <sip:user@example.com:6000;unknownparam1=very${"long".repeat(15)}value;longparam${"name".repeat(12)}=shortvalue;very${"long".repeat(12)}ParameterNameWithNoValue>`,
      from: `F: sip:amazinglylongcallername${"amazinglylong".repeat(20)}@example.net;tag=12982${"9824".repeat(25)};unknownheaderparam${"name".repeat(12)}=unknowheaderparam${"value".repeat(12)};unknownValueless${"paramname".repeat(10)}`,
      callId: `Call-ID: longreq.one${"really".repeat(20)}longcallid`,
      cseq: "CSeq: 3882340 INVITE",
      more: [
        `Unknown-${"Long".repeat(20)}-Name: unknown-${"long".repeat(20)}-value; unknown-${"long".repeat(20)}-parameter-name = unknown-${"long".repeat(20)}-parameter-value`,
        ...Array.from(
          { length: 33 },
          (_, index) => `${index % 2 ? "v" : "Via"}: SIP/2.0/TCP sip${index}.example.com;branch=z9hG4bK.${index}`,
        ),
        `Contact: <sip:amazinglylongcallername${"amazinglylong".repeat(20)}@127.0.0.1>`,
        AS_SDP,
      ],
      body: SDP,
    },
    TAKEN,
  ),
  {
    name: "dblreq",
    section: "3.1.1.8",
    text: message("dblreq", { start: register() }) + message("dblreq2", { start: invite(), more: [CONTACT, AS_SDP], body: SDP }),
    udp: [405],
    tcp: [405, 404],
  },
  entry("semiuri", "3.1.1.9", { start: options("sip:user;par=u%40example.net@example.com"), to: "To: sip:j_user@example.com" }, [200]),
  entry(
    "transports",
    "3.1.1.10",
    {
      start: options(),
      more: [
        "SCTP fictional.example.com:8;branch=z9hG4bK1",
        "TLS t3.example.org;branch=z9hG4bK2",
        "UNKNOWN t4.example.org;branch=z9hG4bK3",
      ].map((hop) => `Via: SIP/2.0/${hop}`),
    },
    [200],
  ),
  entry(
    "mpart01",
    "3.1.1.11",
    { start: "MESSAGE sip:user@example.com SIP/2.0", more: ["Content-Type: multipart/mixed;boundary=7a9cbec02ceef655"], body: "--7a9cbec02ceef655\nContent-Type: text/plain\n\nHi\n--7a9cbec02ceef655\n\n\x00\x82\x01\r\n\x00\x80\n--7a9cbec02ceef655--" }, // prettier-ignore
    [405],
  ),
  entry("unreason", "3.1.1.12", { start: "SIP/2.0 200 = 2**3 * 5**2 \xd0\xbd\xd0\xbe", cseq: "CSeq: 35 INVITE", more: [CONTACT] }, []),
  entry("noreason", "3.1.1.13", { start: "SIP/2.0 100 ", cseq: "CSeq: 35 INVITE", more: [CONTACT] }, []),
  // 3.1.2: invalid messages
  entry("badinv01", "3.1.2.1", { start: invite(), via: "Via: {via};;,;,,", more: ['Contact: "Joe" <sip:joe@example.org>;;;;'] }, [400]),
  entry("clerr", "3.1.2.2", { start: invite(), more: [CONTACT, AS_SDP], length: "Content-Length: 9999", body: SDP }, [400], {
    tcp: "waits",
    closes: true,
  }),
  entry("ncl", "3.1.2.3", { start: invite(), more: [CONTACT, AS_SDP], length: "Content-Length: -999", body: SDP }, [400], { closes: true }),
  entry(
    "scalar02",
    "3.1.2.4",
    {
      start: register(),
      cseq: "CSeq: 36893488147419103232 REGISTER",
      more: ["Expires: 10000000000000000000000000000000000000000", CONTACT],
    },
    [400],
  ),
  entry(
    "scalarlg",
    "3.1.2.5",
    {
      start: "SIP/2.0 503 Service Unavailable",
      cseq: "CSeq: 9292394834772304023312 OPTIONS",
      more: ["Retry-After: 949302838503028349304023988"],
    },
    [],
  ),
  entry("quotbal", "3.1.2.6", { start: invite(), to: 'To: "Mr. J. User <sip:j.user@example.com>', more: [CONTACT] }, [400]),
  entry("ltgtruri", "3.1.2.7", { start: invite("<sip:user@example.com>"), more: [CONTACT] }, [400]),
  entry("lwsruri", "3.1.2.8", { start: invite("sip:user@example.com; lr"), more: [CONTACT] }, [400]),
  entry("lwsstart", "3.1.2.9", { start: "INVITE  sip:user@example.com  SIP/2.0", cseq: "CSeq: 1 INVITE", more: [CONTACT] }, [400]),
  entry("trws", "3.1.2.10", { start: "OPTIONS sip:remote-target@example.com SIP/2.0  " }, [400]),
  entry("escruri", "3.1.2.11", { start: invite("sip:user@example.com?Route=%3Csip:example.com%3E"), more: [CONTACT] }, [400, 404]),
  entry("baddate", "3.1.2.12", { start: invite(), more: [CONTACT, "Date: Fri, 01 Jan 2010 16:00:00 EST"] }, TAKEN),
  entry("regbadct", "3.1.2.13", { start: register(), more: ["Contact: sip:user@example.com?Route=%3Csip:sip.example.com%3E"] }, [400, 405]),
  entry("badaspec", "3.1.2.14", { start: options(), to: 'To: "Watson, Thomas" < sip:t.watson@example.org >' }, [200, 400]),
  entry("baddn", "3.1.2.15", { start: options(), from: "From: Bell, Alexander <sip:a.g.bell@example.com>;tag=43" }, [200, 400]),
  entry(
    "badvers",
    "3.1.2.16",
    { start: "OPTIONS sip:t.watson@example.org SIP/7.0", via: "Via: SIP/7.0/{transport} 127.0.0.1:{port};rport;branch=z9hG4bKkdjuw" },
    [505],
  ),
  entry("mismatch01", "3.1.2.17", { start: options(), cseq: "CSeq: 8 INVITE" }, [400]),
  entry(
    "mismatch02",
    "3.1.2.18",
    { start: "NEWMETHOD sip:user@example.com SIP/2.0", cseq: "CSeq: 8 INVITE", more: [CONTACT, AS_SDP], body: SDP },
    [501],
  ),
  entry("bigcode", "3.1.2.19", { start: "SIP/2.0 4294967301 better not break the receiver", cseq: "CSeq: 353494 INVITE" }, []),
  // 3.2: transaction layer
  entry("badbranch", "3.2.1", { start: options(), via: "Via: {via};branch=z9hG4bK" }, [200, 400]),
  // 3.3: application layer
  entry("insuf", "3.3.1", { start: invite(), from: "", to: "", callId: "", cseq: "CSeq: 193942 INVITE" }, [400]),
  entry("unkscm", "3.3.2", { start: options("nobodyKnowsThisScheme:totallyopaquecontent") }, [416]),
  entry("novelsc", "3.3.3", { start: options("soap.beep://192.0.2.103:3002") }, [416]),
  entry(
    "unksm2",
    "3.3.4",
    {
      start: register(),
      to: "To: isbn:2983792873",
      from: "From: <http://www.example.com>;tag=3234233",
      more: ["Contact: <name:John_Smith>"],
    },
    [405],
  ),
  entry("bext01", "3.3.5", { start: options(), more: ["Require: nothingSupportsThis, nothingSupportsThisEither", "Proxy-Require: noProxiesSupportThis, norDoAnyProxiesSupportThis"] }, [420]), // prettier-ignore
  entry(
    "invut",
    "3.3.6",
    { start: invite(), more: [CONTACT, "Content-Type: application/unknownformat"], body: "<audio>\n <pcmu port='443'/>\n</audio>\n" },
    [415],
  ),
  entry("regaut01", "3.3.7", { start: register(), more: ["Authorization: NoOneKnowsThisScheme opaque-data=here"] }, [405]),
  entry("multi01", "3.3.8", { start: invite(), more: ["From: <sip:second@example.com>;tag=2", "To: <sip:third@example.com>", "CSeq: 8 INVITE", "Call-ID: other", "Max-Forwards: 5", CONTACT, AS_SDP], body: SDP }, [400]), // prettier-ignore
  entry(
    "mcl01",
    "3.3.9",
    {
      start: options(),
      more: ["Content-Length: 13"],
      length: "Content-Length: 5",
      body: "There's no way to know how many octets are supposed to be here.",
    },
    [400],
    { closes: true },
  ),
  entry("bcast", "3.3.10", { start: "SIP/2.0 200 OK", via: "Via: SIP/2.0/UDP 192.0.2.198;branch=z9hG4bK1\r\nVia: SIP/2.0/UDP 255.255.255.255;branch=z9hG4bK2", cseq: "CSeq: 35 INVITE" }, []), // prettier-ignore
  {
    name: "zeromf",
    section: "3.3.11",
    text: message("zeromf", { start: options() }).replace("Max-Forwards: 70", "Max-Forwards: 0"),
    udp: [200],
  },
  entry("cparam01", "3.3.12", { start: register(), more: ["Contact: sip:+19725552222@gw1.example.net;unknownparam"] }, [405]),
  entry("cparam02", "3.3.13", { start: register(), more: ["Contact: <sip:+19725552222@gw1.example.net;unknownparam>"] }, [405]),
  entry("regescrt", "3.3.14", { start: register(), more: ["Contact: <sip:user@example.com?Route=%3Csip:sip.example.com%3E>"] }, [405]),
  entry("sdp01", "3.3.15", { start: invite(), more: [CONTACT, AS_SDP, "Accept: text/nobodyKnowsThis"], body: SDP }, [406]),
  // 3.4: compatibility
  {
    name: "inv2543",
    section: "3.4.1",
    text: `${["INVITE sip:UserB@example.com SIP/2.0", "Via: {via}", "From: <sip:+13035551111@ift.client.example.net;user=phone>", "Record-Route: <sip:UserB@example.com;maddr=ss1.example.com>", "To: sip:+16505552222@ss1.example.net;user=phone", "Call-ID: inv2543.1717@ift.client.example.com", "CSeq: 56 INVITE", AS_SDP].join("\r\n")}\r\n\r\n${SDP.replaceAll("\n", "\r\n")}`, // prettier-ignore
    udp: TAKEN,
    tcp: [400],
    closes: true,
  },
];
