//! A database for tests, on which the processes of a plan are executed one after another.

use assay_model::{Argument, Arguments, Datum, Decimal, Filled, Kind, Operation, Pick, Taken};
use assay_sql::sqlite::{EncodedRow, TestDatabase};

use super::ScriptPlan;

/// All rows, with what was done to them.
pub(super) struct Engine {
    database: TestDatabase,
    /// The values of the last column that was asked for.
    column: Vec<Vec<u8>>,
    /// Why the database refused a query.
    pub refused: Vec<String>,
    /// How many rows each operation affected, in the order in which they were issued.
    pub touched: Vec<(u16, usize)>,
}

/// The operations of these processes, each with its arguments.
pub(super) fn issued(
    plan: &ScriptPlan,
    processes: impl IntoIterator<Item = u64>,
) -> Vec<(Operation, Arguments)> {
    let mut all = Vec::new();
    for_each_process(plan, processes, |operations, arguments| {
        for (place, operation) in operations.iter().enumerate() {
            let mut one = Arguments::default();
            assert!(one.push_encoded(arguments.encoded(place)));
            all.push((*operation, one));
        }
    });
    all
}

fn for_each_process(
    plan: &ScriptPlan,
    processes: impl IntoIterator<Item = u64>,
    mut found: impl FnMut(&[Operation], &Arguments),
) {
    let mut source = plan.source();
    let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
    for process in processes {
        if source.fill(process, &mut operations).unwrap() == Filled::End {
            break;
        }
        source.arguments(&mut arguments);
        found(&operations, &arguments);
    }
}

impl Engine {
    pub(super) fn new(plan: &ScriptPlan) -> Engine {
        let catalogue = assay_sql::catalogue(&plan.schema, &plan.queries).unwrap();
        Engine {
            database: TestDatabase::new(&catalogue),
            column: Vec::new(),
            refused: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// A store into which a plan has been loaded, which must not write a row twice.
    pub(super) fn loaded(load: &ScriptPlan) -> Engine {
        let mut engine = Engine::new(load);
        engine.run(load, 0..u64::MAX);
        assert_eq!(engine.refused, [""; 0]);
        engine.touched.clear();
        engine
    }

    /// How many rows each issue of this query has affected.
    pub(super) fn touched_by(&self, plan: &ScriptPlan, query: &str) -> Vec<usize> {
        let place = plan.queries.iter().position(|one| one.name == query).unwrap();
        let of_query = self.touched.iter().filter(|(one, _)| usize::from(*one) == place + 1);
        of_query.map(|(_, rows)| *rows).collect()
    }

    /// Issues the processes with these numbers one after another.
    pub(super) fn run(&mut self, plan: &ScriptPlan, processes: impl Iterator<Item = u64>) {
        for_each_process(plan, processes, |operations, arguments| {
            self.issue(operations, arguments)
        });
    }

    fn issue(&mut self, operations: &[Operation], arguments: &Arguments) {
        let mut answers: Vec<Vec<EncodedRow>> = Vec::new();
        for (place, operation) in operations.iter().enumerate() {
            let mut rows = Vec::new();
            if operation.statement > 0 {
                let values: Vec<Vec<u8>> = arguments
                    .of(place)
                    .map(|argument| match argument {
                        Argument::Given(datum) => encoded(&datum),
                        Argument::Taken(taken) => {
                            taken_from(&taken, &answers[usize::from(taken.operation)])
                        }
                    })
                    .collect();
                let values: Vec<Datum<'_>> = values.iter().map(|bytes| datum(bytes)).collect();
                rows = self.query(operation.statement, &values);
            }
            if operation.kind == Kind::Rollback {
                self.database.roll_back();
            } else if operation.ends_transaction {
                self.database.commit();
            }
            answers.push(rows);
        }
    }

    /// The rows that a query returns, once it has done what it does.
    pub(super) fn query(&mut self, statement: u16, values: &[Datum<'_>]) -> Vec<EncodedRow> {
        self.database.begin();
        let done = self.database.execute(usize::from(statement) - 1, values);
        let done = done.unwrap_or_else(|reason| {
            self.refused.push(reason);
            Default::default()
        });
        self.touched.push((statement, done.affected));
        done.rows
    }

    /// All values of a column, in the order of the keys.
    pub(super) fn column(&mut self, table: &str, column: &str) -> Vec<Datum<'_>> {
        self.column = self.database.column(table, column);
        self.column.iter().map(|bytes| datum(bytes)).collect()
    }
}

fn datum(bytes: &[u8]) -> Datum<'_> {
    Datum::decode(bytes).unwrap().0
}

fn encoded(datum: &Datum<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    datum.encode(&mut bytes);
    bytes
}

fn taken_from(taken: &Taken, rows: &[EncodedRow]) -> Vec<u8> {
    let column = usize::from(taken.column);
    let Some(last) = rows.len().checked_sub(1) else { return encoded(&Datum::Null) };
    let row = match taken.pick {
        Pick::First => 0,
        Pick::Last => last,
        Pick::Middle => last / 2,
        Pick::Sum => {
            let numbers = rows.iter().filter_map(|row| datum(&row[column]).exact());
            let sum = match numbers.reduce(|sum, number| sum.plus(number).unwrap()) {
                None => Datum::Null,
                Some(Decimal { mantissa, scale: 0 }) => Datum::Int(mantissa),
                Some(sum) => Datum::Decimal(sum),
            };
            return encoded(&taken.apply(sum));
        }
    };
    encoded(&taken.apply(datum(&rows[row][column])))
}
