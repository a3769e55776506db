import type { Reader } from "./tokens.ts";
import { add, cast, compare, contains, Interval, join, multiply, parseInterval, type Row, textOf, type Value } from "./values.ts";

/** SQL expressions, compiled once per statement text into closures. Three-valued logic: null is "not known". */

/** The rows in view, innermost first. */
export interface Scope {
  alias: string;
  row: Row;
  outer: Scope | null;
  statement: Statement;
}

/** What one execution of a statement knows. */
export interface Statement {
  parameters: readonly Value[];
  /** clock_timestamp(), by the database's clock. */
  now: () => Date;
  /** statement_timestamp(). */
  began: Date;
  notify: (channel: string, payload: string) => void;
  /** Results of sub-selects that look at no outer row: made once. */
  once: Map<object, Row[]>;
  /** Rows of the CTEs that have been run. */
  parts: Map<string, Row[]>;
  /** The transaction. */
  transaction: object;
}

export type Evaluate = (scope: Scope) => Value;

export interface Expression {
  run: Evaluate;
  /** The column it is, when it is one. */
  column?: string;
  /** It looks at no row. */
  constant: boolean;
  /** Every row for which it is true has one of these values in this column. */
  equalities: readonly { column: string; values: (scope: Scope) => readonly Value[] }[];
  /** Its name in a result. */
  name: string;
}

/** What the expressions need of the statements: a select in brackets. */
export interface SubSelect {
  /** Names of the tables outside that it looks at; none: it can be run once. */
  correlated: boolean;
  rows: (scope: Scope) => Row[];
}

const NO: readonly never[] = [];

export class Expressions {
  readonly #reader: Reader;
  readonly #select: () => SubSelect;
  /** Told of each qualified column, so that a select knows whether it looks outside. */
  onQualifier: (alias: string) => void = () => {};

  constructor(reader: Reader, select: () => SubSelect) {
    this.#reader = reader;
    this.#select = select;
  }

  read(): Expression {
    let left = this.#and();
    while (this.#reader.accept("or")) {
      const [a, b] = [left, this.#and()];
      left = {
        ...made((scope) => {
          const first = a.run(scope);
          if (first === true) return true;
          const second = b.run(scope);
          return second === true ? true : first === null || second === null ? null : false;
        }, a.constant && b.constant),
        equalities: either(a.equalities, b.equalities),
      };
    }
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.#reader.accept("and")) {
      const [a, b] = [left, this.#not()];
      left = {
        ...made((scope) => {
          const first = a.run(scope);
          if (first === false) return false;
          const second = b.run(scope);
          return second === false ? false : first === null || second === null ? null : true;
        }, a.constant && b.constant),
        equalities: [...a.equalities, ...b.equalities],
      };
    }
    return left;
  }

  #not(): Expression {
    if (!this.#reader.accept("not")) return this.#comparison();
    const inner = this.#not();
    return made((scope) => {
      const value = inner.run(scope);
      return value === null ? null : !(value as boolean);
    }, inner.constant);
  }

  #comparison(): Expression {
    const reader = this.#reader;
    const left = this.#sum();
    if (reader.accept("is", "not", "distinct", "from")) return distinct(left, this.#sum(), false);
    if (reader.accept("is", "distinct", "from")) return distinct(left, this.#sum(), true);
    if (reader.accept("is", "not", "null")) return made((scope) => left.run(scope) !== null, left.constant);
    if (reader.accept("is", "null")) {
      const result = made((scope) => left.run(scope) === null, left.constant);
      return left.column === undefined ? result : { ...result, equalities: [{ column: left.column, values: () => [null] }] };
    }
    if (reader.accept("in")) return this.#isIn(left);
    if (reader.accept("@>")) {
      const right = this.#sum();
      return made((scope) => contains(left.run(scope), right.run(scope)), left.constant && right.constant);
    }
    const operator = ["=", "<>", "!=", "<=", ">=", "<", ">"].find((sign) => reader.accept(sign));
    if (operator === undefined) return left;
    const test = TESTS[operator]!;
    const quantifier = reader.accept("any") ? "some" : reader.accept("all") ? "every" : null;
    const right = this.#sum();
    if (quantifier) {
      const result = made((scope) => {
        const [value, items] = [left.run(scope), right.run(scope)];
        if (value === null || items === null) return null;
        return (items as Value[])[quantifier]((item) => test(compare(value, item) ?? Number.NaN));
      }, left.constant && right.constant);
      if (operator !== "=" || quantifier !== "some" || left.column === undefined || !right.constant) return result;
      return { ...result, equalities: [{ column: left.column, values: (scope) => (right.run(scope) as Value[] | null) ?? [] }] };
    }
    const result = made((scope) => {
      const order = compare(left.run(scope), right.run(scope));
      return order === null ? null : test(order);
    }, left.constant && right.constant);
    return operator === "=" ? { ...result, equalities: equality(left, right) } : result;
  }

  #isIn(left: Expression): Expression {
    const reader = this.#reader;
    reader.expect("(");
    if (!reader.sees("select")) {
      const items = reader.list(() => this.read());
      reader.expect(")");
      const areConstant = items.every((item) => item.constant);
      const isOne = made((scope) => {
        const value = left.run(scope);
        return value === null ? null : items.some((item) => compare(value, item.run(scope)) === 0);
      }, left.constant && areConstant);
      if (left.column === undefined || !areConstant) return isOne;
      return { ...isOne, equalities: [{ column: left.column, values: (scope) => items.map((item) => item.run(scope)) }] };
    }
    const select = this.#select();
    reader.expect(")");
    const isIn = made((scope) => {
      const value = left.run(scope);
      return rowsOf(select, scope).some((row) => compare(value, firstOf(row)) === 0);
    }, false);
    if (left.column === undefined || select.correlated) return isIn;
    return { ...isIn, equalities: [{ column: left.column, values: (scope) => rowsOf(select, scope).map(firstOf) }] };
  }

  #sum(): Expression {
    let left = this.#product();
    for (;;) {
      const a = left;
      const operator = ["+", "-", "||"].find((sign) => this.#reader.accept(sign));
      if (operator === undefined) return left;
      const b = this.#product();
      const apply = operator === "||" ? join : (x: Value, y: Value) => add(x, y, operator === "+" ? 1 : -1);
      left = made((scope) => apply(a.run(scope), b.run(scope)), a.constant && b.constant);
    }
  }

  #product(): Expression {
    let left = this.#cast();
    while (this.#reader.accept("*")) {
      const [a, b] = [left, this.#cast()];
      left = made((scope) => multiply(a.run(scope), b.run(scope)), a.constant && b.constant);
    }
    return left;
  }

  #cast(): Expression {
    const reader = this.#reader;
    let inner = this.#element(this.#primary());
    while (reader.accept("::")) {
      const { run, constant, name } = inner;
      const type = reader.name() + (reader.accept("[", "]") ? "[]" : "");
      inner = { ...made((scope) => cast(run(scope), type), constant), name };
    }
    return inner;
  }

  /** `array[n]`, counted from one; null past its end. */
  #element(array: Expression): Expression {
    if (!this.#reader.accept("[")) return array;
    const index = this.read();
    this.#reader.expect("]");
    return made((scope) => (array.run(scope) as Value[] | null)?.[Number(index.run(scope)) - 1] ?? null, array.constant && index.constant);
  }

  #primary(): Expression {
    const reader = this.#reader;
    if (reader.accept("(")) {
      const inner = reader.sees("select") ? scalar(this.#select()) : this.read();
      reader.expect(")");
      return inner;
    }
    if (reader.accept("exists")) {
      reader.expect("(");
      const select = this.#select();
      reader.expect(")");
      return made((scope) => rowsOf(select, scope).length > 0, false);
    }
    if (reader.accept("case")) return this.#case();
    if (reader.accept("array", "[")) {
      const items = reader.list(() => this.read());
      reader.expect("]");
      return made(
        (scope) => items.map((item) => item.run(scope)),
        items.every((item) => item.constant),
      );
    }
    if (reader.accept("null")) return made(() => null, true);
    if (reader.accept("true")) return made(() => true, true);
    if (reader.accept("false")) return made(() => false, true);
    if (reader.accept("interval")) {
      const interval = parseInterval(reader.next().text);
      return made(() => interval, true);
    }
    const token = reader.next();
    if (token.kind === "parameter") {
      const index = Number(token.text) - 1;
      return made(({ statement }) => statement.parameters[index] ?? null, true);
    }
    if (token.kind === "number") return made(() => Number(token.text), true);
    if (token.kind === "text") return made(() => token.text, true);
    if (token.kind !== "name") return reader.fail("an expression expected");
    if (!token.quoted && reader.accept("(")) return this.#call(token.text);
    return this.#column(token.text);
  }

  #column(first: string): Expression {
    if (!this.#reader.accept(".")) {
      return { ...made((scope) => unqualified(scope, first), false), column: first, name: first };
    }
    const column = this.#reader.name();
    this.onQualifier(first);
    return { ...made((scope) => qualified(scope, first, column), false), column, name: column };
  }

  #case(): Expression {
    const reader = this.#reader;
    const branches: [Expression, Expression][] = [];
    while (reader.accept("when")) {
      const condition = this.read();
      reader.expect("then");
      branches.push([condition, this.read()]);
    }
    const otherwise = reader.accept("else") ? this.read() : made(() => null, true);
    reader.expect("end");
    return made((scope) => (branches.find(([condition]) => condition.run(scope) === true)?.[1] ?? otherwise).run(scope), false);
  }

  #call(name: string): Expression {
    const reader = this.#reader;
    if (name === "extract") {
      reader.expect("epoch", "from");
      const inner = this.read();
      reader.expect(")");
      return made((scope) => Number(inner.run(scope)) / 1000, inner.constant);
    }
    if (name === "to_jsonb") {
      const alias = reader.name();
      reader.expect(")");
      this.onQualifier(alias);
      return made((scope) => JSON.parse(JSON.stringify(rowNamed(scope, alias))) as Value, false);
    }
    const call = FUNCTIONS[name];
    if (!call) return reader.fail(`the function ${name} is not known`);
    const parameters: Expression[] = [];
    while (!reader.accept(")")) {
      if (reader.accept("secs", "=>")) continue;
      parameters.push(this.read());
      reader.accept(",");
    }
    const run: Evaluate = (scope) =>
      call(
        parameters.map((parameter) => parameter.run(scope)),
        scope.statement,
      );
    return { ...made(run, parameters.every((parameter) => parameter.constant) && !CLOCKS.has(name)), name };
  }
}

function made(run: Evaluate, constant: boolean): Expression {
  return { run, constant, equalities: NO, name: "?column?" };
}

function scalar(select: SubSelect): Expression {
  return made((scope) => firstOf(rowsOf(select, scope)[0] ?? {}), !select.correlated);
}

function rowsOf(select: SubSelect, scope: Scope): Row[] {
  if (select.correlated) return select.rows(scope);
  const { once } = scope.statement;
  const rows = once.get(select) ?? select.rows(scope);
  once.set(select, rows);
  return rows;
}

function firstOf(row: Row): Value {
  for (const name in row) return row[name] ?? null;
  return null;
}

function distinct(left: Expression, right: Expression, wanted: boolean): Expression {
  return made((scope) => {
    const [a, b] = [left.run(scope), right.run(scope)];
    const differs = a === null || b === null ? a !== b : compare(a, b) !== 0;
    return differs === wanted;
  }, left.constant && right.constant);
}

function equality(left: Expression, right: Expression): Expression["equalities"] {
  if (left.column !== undefined && right.constant) return [{ column: left.column, values: (scope) => [right.run(scope)] }];
  if (right.column !== undefined && left.constant) return [{ column: right.column, values: (scope) => [left.run(scope)] }];
  return NO;
}

/** What `or` leaves of both sides' equalities: those on one column. */
function either(left: Expression["equalities"], right: Expression["equalities"]): Expression["equalities"] {
  return left.flatMap(({ column, values }) => {
    const other = right.find((equality) => equality.column === column);
    return other ? [{ column, values: (scope: Scope) => [...values(scope), ...other.values(scope)] }] : [];
  });
}

function unqualified(scope: Scope, column: string): Value {
  for (let view: Scope | null = scope; view; view = view.outer) {
    const value = view.row[column];
    if (value !== undefined) return value;
  }
  throw new ReferenceError(`column "${column}" does not exist`);
}

function qualified(scope: Scope, alias: string, column: string): Value {
  for (let view: Scope | null = scope; view; view = view.outer) {
    if (view.alias !== alias) continue;
    const value = view.row[column];
    if (value !== undefined) return value;
  }
  throw new ReferenceError(`column "${alias}"."${column}" does not exist`);
}

function rowNamed(scope: Scope, alias: string): Row {
  for (let view: Scope | null = scope; view; view = view.outer) if (view.alias === alias) return view.row;
  throw new ReferenceError(`there is no row "${alias}"`);
}

const TESTS: Readonly<Record<string, (order: number) => boolean>> = {
  "=": (order) => order === 0,
  "<>": (order) => order !== 0,
  "!=": (order) => order !== 0,
  "<": (order) => order < 0,
  ">": (order) => order > 0,
  "<=": (order) => order <= 0,
  ">=": (order) => order >= 0,
};

const CLOCKS = new Set(["clock_timestamp", "pg_notify"]);

const FUNCTIONS: Readonly<Record<string, (values: Value[], statement: Statement) => Value>> = {
  clock_timestamp: (_, { now }) => now(),
  statement_timestamp: (_, { began }) => began,
  // The model's clock counts whole milliseconds.
  date_trunc: ([, moment]) => moment ?? null,
  make_interval: ([seconds]) => new Interval(Number(seconds) * 1000),
  ceil: ([value]) => Math.ceil(Number(value)),
  greatest: (values) => values.reduce((most, value) => ((compare(value, most) ?? 1) > 0 ? value : most)),
  // The aggregate itself is the select's: here is the value of one row.
  max: ([value]) => value ?? null,
  cardinality: ([array]) => (array === null ? null : (array as Value[]).length),
  jsonb_typeof: ([value]) => (value === null || Array.isArray(value) ? value && "array" : typeof value),
  jsonb_build_object: (values) =>
    Object.fromEntries(values.flatMap((name, index) => (index % 2 === 0 ? [[textOf(name), values[index + 1] ?? null]] : []))),
  coalesce: (values) => values.find((value) => value !== null) ?? null,
  pg_notify: ([channel, payload], { notify }) => {
    notify(textOf(channel), textOf(payload));
    return "";
  },
  // Settings of how a commit is made decide nothing here.
  set_config: ([, value]) => value ?? null,
};
