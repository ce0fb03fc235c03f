//! The consistency conditions of TPC-C that a store must hold after a run (clauses 3.3.2.1–4).
//!
//! An [`Examination`] names the next query and is given the rows that come back; a logical
//! query cannot count, so it counts. It is given rows one by one and keeps sums only.

use std::cmp::Ordering;

use assay_model::{Datum, Decimal};

use super::DISTRICTS;
use super::query::Query;
use super::spec::TpccSpec;

/// Orders whose rows are read at once, so that results stay small.
const CHUNK: i64 = 200;
/// No order has a number from here on: numbers have 32 bits.
const ORDERS_END: i64 = i32::MAX as i64;

/// One of the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConsistencyCondition {
    /// 3.3.2.1: what a warehouse was paid is the sum of what its districts were paid.
    Paid,
    /// 3.3.2.2: the next order's number less one is the greatest number among the orders, and among
    /// the new orders if there are any.
    LastOrder,
    /// 3.3.2.3: the numbers of a district's new orders have no gap.
    NewOrders,
    /// 3.3.2.4: a district has as many order lines as its orders say.
    Lines,
}

impl ConsistencyCondition {
    /// All of them, in the order of the standard.
    pub const ALL: [ConsistencyCondition; 4] = [
        ConsistencyCondition::Paid,
        ConsistencyCondition::LastOrder,
        ConsistencyCondition::NewOrders,
        ConsistencyCondition::Lines,
    ];

    /// Its number in the standard.
    pub const fn clause(self) -> &'static str {
        match self {
            ConsistencyCondition::Paid => "3.3.2.1",
            ConsistencyCondition::LastOrder => "3.3.2.2",
            ConsistencyCondition::NewOrders => "3.3.2.3",
            ConsistencyCondition::Lines => "3.3.2.4",
        }
    }

    /// What must hold.
    pub const fn formula(self) -> &'static str {
        match self {
            ConsistencyCondition::Paid => "w_ytd = sum(d_ytd)",
            ConsistencyCondition::LastOrder => "d_next_o_id - 1 = max(o_id) = max(no_o_id)",
            ConsistencyCondition::NewOrders => "max(no_o_id) - min(no_o_id) + 1 = count(new_order)",
            ConsistencyCondition::Lines => "sum(o_ol_cnt) = count(order_line)",
        }
    }
}

/// One query to be executed.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionQuery {
    /// Its place in the plan's queries plus one.
    pub statement: u16,
    /// Its arguments.
    pub arguments: Vec<Datum<'static>>,
}

/// What became of one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionFinding {
    /// The condition.
    pub condition: ConsistencyCondition,
    /// For how many warehouses or districts it was looked at.
    pub examined: u64,
    /// Where it does not hold.
    pub violations: Vec<Violation>,
}

impl ConditionFinding {
    /// Whether the condition holds everywhere.
    pub fn is_held(&self) -> bool {
        self.violations.is_empty()
    }
}

/// A place where a condition does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The warehouse's number.
    pub warehouse: u64,
    /// The district's number, for conditions of districts.
    pub district: Option<u64>,
    /// The left side of the condition.
    pub left: ConditionTerm,
    /// A right side that differs.
    pub right: ConditionTerm,
}

/// One side of a condition with what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionTerm {
    /// What it is, as the formula names it.
    pub name: &'static str,
    /// Its value; `None` if the store gave no row, or no number.
    pub value: Option<Decimal>,
}

/// What is known of the district that is being looked at.
#[derive(Clone, Copy, Debug, Default)]
struct District {
    next: Option<i64>,
    last: Option<i64>,
    least_new: Option<i64>,
    greatest_new: Option<i64>,
    new_orders: i64,
    lines_said: i64,
    lines_found: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Warehouse,
    Districts,
    LastOrder,
    NewOrders,
    Orders(i64),
    Lines(i64),
    Done,
}

/// Queries the rows of the conditions, warehouse by warehouse, and checks them.
///
/// ```
/// # use assay_workload::script::tpcc::{TpccSpec, conditions::Examination};
/// # fn issue(statement: u16) -> Vec<Vec<assay_model::Datum<'static>>> { Vec::new() }
/// let mut examination = Examination::new(&TpccSpec::default());
/// while let Some(condition_query) = examination.condition_query() {
///     issue(condition_query.statement).iter().for_each(|row| examination.row(row));
///     examination.answered();
/// }
/// let findings = examination.findings();
/// assert!(!findings[0].is_held());
/// ```
#[derive(Clone, Debug)]
pub struct Examination {
    warehouses: u64,
    warehouse: u64,
    district: u64,
    stage: Stage,
    paid: Option<Decimal>,
    /// The sum over the districts; `None` once it could not be added up.
    paid_to_districts: Option<Decimal>,
    next: [Option<i64>; DISTRICTS as usize],
    found: District,
    findings: Vec<ConditionFinding>,
}

impl Examination {
    /// Of all warehouses.
    pub fn new(spec: &TpccSpec) -> Examination {
        let blank = |condition| ConditionFinding { condition, examined: 0, violations: Vec::new() };
        Examination {
            warehouses: spec.dataset.warehouses,
            warehouse: 1,
            district: 1,
            stage: Stage::Warehouse,
            paid: None,
            paid_to_districts: Some(Decimal { mantissa: 0, scale: 2 }),
            next: [None; DISTRICTS as usize],
            found: District::default(),
            findings: ConsistencyCondition::ALL.map(blank).to_vec(),
        }
    }

    /// The next query; `None` at the end.
    pub fn condition_query(&self) -> Option<ConditionQuery> {
        let (warehouse, district) = (self.warehouse as i64, self.district as i64);
        let (query, numbers) = match self.stage {
            Stage::Warehouse => (Query::CheckWarehouse, vec![warehouse]),
            Stage::Districts => (Query::CheckDistricts, vec![warehouse]),
            Stage::LastOrder => (Query::CheckLastOrder, vec![warehouse, district]),
            Stage::NewOrders => (Query::CheckNewOrders, vec![warehouse, district]),
            Stage::Orders(from) => {
                (Query::CheckOrders, vec![warehouse, district, from, self.chunk_end(from)])
            }
            Stage::Lines(from) => {
                (Query::CheckLines, vec![warehouse, district, from, self.chunk_end(from)])
            }
            Stage::Done => return None,
        };
        let arguments = numbers.into_iter().map(Datum::Int).collect();
        Some(ConditionQuery { statement: query.issue().statement, arguments })
    }

    /// Takes one row that answers the question.
    pub fn row(&mut self, row: &[Datum<'_>]) {
        let number = |column: usize| row.get(column).and_then(whole);
        let found = &mut self.found;
        match self.stage {
            Stage::Warehouse => self.paid = row.first().and_then(money),
            Stage::Districts => {
                let paid = row.get(1).and_then(money);
                self.paid_to_districts =
                    self.paid_to_districts.zip(paid).and_then(|(sum, paid)| sum.plus(paid));
                let place = number(0).and_then(|district| usize::try_from(district - 1).ok());
                if let Some(next) = place.and_then(|place| self.next.get_mut(place)) {
                    *next = number(2);
                }
            }
            Stage::LastOrder => found.last = number(0),
            Stage::NewOrders => {
                let order = number(0);
                found.least_new = found.least_new.into_iter().chain(order).min();
                found.greatest_new = found.greatest_new.into_iter().chain(order).max();
                found.new_orders += 1;
            }
            Stage::Orders(_) => found.lines_said += number(1).unwrap_or(0),
            Stage::Lines(_) => found.lines_found += 1,
            Stage::Done => {}
        }
    }

    /// Goes on after the last row of an answer.
    pub fn answered(&mut self) {
        self.stage = match self.stage {
            Stage::Warehouse => Stage::Districts,
            Stage::Districts => {
                self.analyze_warehouse();
                self.begin_district()
            }
            Stage::LastOrder => Stage::NewOrders,
            Stage::NewOrders => Stage::Orders(1),
            Stage::Orders(from) => Stage::Lines(from),
            Stage::Lines(from) => match self.chunk_end(from) {
                ORDERS_END => {
                    self.analyze_district();
                    self.next_district()
                }
                end => Stage::Orders(end),
            },
            Stage::Done => Stage::Done,
        };
    }

    /// What was found, in the order of [`ConsistencyCondition::ALL`].
    pub fn findings(self) -> Vec<ConditionFinding> {
        self.findings
    }

    /// Where the chunk of orders from `from` on ends; the last one has no end.
    fn chunk_end(&self, from: i64) -> i64 {
        let known = self.found.next.max(self.found.last).unwrap_or(0);
        if from + CHUNK > known { ORDERS_END } else { from + CHUNK }
    }

    fn begin_district(&mut self) -> Stage {
        let next = self.next[self.district as usize - 1];
        self.found = District { next, ..District::default() };
        Stage::LastOrder
    }

    fn next_district(&mut self) -> Stage {
        if self.district < DISTRICTS {
            self.district += 1;
            return self.begin_district();
        }
        if self.warehouse == self.warehouses {
            return Stage::Done;
        }
        self.warehouse += 1;
        self.district = 1;
        self.paid = None;
        self.paid_to_districts = Some(Decimal { mantissa: 0, scale: 2 });
        self.next = [None; DISTRICTS as usize];
        Stage::Warehouse
    }

    fn analyze_warehouse(&mut self) {
        let left = ConditionTerm { name: "w_ytd", value: self.paid };
        let right = ConditionTerm { name: "sum(d_ytd)", value: self.paid_to_districts };
        self.compare(ConsistencyCondition::Paid, None, left, [right]);
    }

    fn analyze_district(&mut self) {
        let found = self.found;
        let side = |name, number: Option<i64>| ConditionTerm { name, value: number.map(of_whole) };
        let district = Some(self.district);
        let left = side("d_next_o_id - 1", found.next.map(|next| next - 1));
        let greatest = found.greatest_new.map(|_| side("max(no_o_id)", found.greatest_new));
        // A district whose first order is still to come has none: its next number is 1.
        let last = found.last.or((found.next == Some(1)).then_some(0));
        let rights = std::iter::once(side("max(o_id)", last)).chain(greatest);
        self.compare(ConsistencyCondition::LastOrder, district, left, rights);
        let span = match (found.least_new, found.greatest_new) {
            (Some(least), Some(greatest)) => greatest - least + 1,
            _ => 0,
        };
        let left = side("max(no_o_id) - min(no_o_id) + 1", Some(span));
        let right = side("count(new_order)", Some(found.new_orders));
        self.compare(ConsistencyCondition::NewOrders, district, left, [right]);
        let left = side("sum(o_ol_cnt)", Some(found.lines_said));
        let right = side("count(order_line)", Some(found.lines_found));
        self.compare(ConsistencyCondition::Lines, district, left, [right]);
    }

    fn compare(
        &mut self,
        condition: ConsistencyCondition,
        district: Option<u64>,
        left: ConditionTerm,
        rights: impl IntoIterator<Item = ConditionTerm>,
    ) {
        let finding = &mut self.findings[condition as usize];
        finding.examined += 1;
        let warehouse = self.warehouse;
        for right in rights {
            let order =
                left.value.zip(right.value).and_then(|(left, right)| left.partial_cmp(&right));
            if order != Some(Ordering::Equal) {
                let left = left.clone();
                finding.violations.push(Violation { warehouse, district, left, right });
            }
        }
    }
}

fn of_whole(mantissa: i64) -> Decimal {
    Decimal { mantissa, scale: 0 }
}

/// A whole number, however the store writes it.
fn whole(datum: &Datum<'_>) -> Option<i64> {
    datum.exact()?.rescaled(0).map(|decimal| decimal.mantissa)
}

/// An amount of money; one from a store that has binary numbers only is rounded to cents.
fn money(datum: &Datum<'_>) -> Option<Decimal> {
    match datum {
        Datum::Double(number) => {
            Some(Decimal { mantissa: libm::round(number * 100.0) as i64, scale: 2 })
        }
        _ => datum.exact(),
    }
}

/// What must be printed beside every figure of this workload.
pub const NOT_AUDITED: &str = "not an audited TPC result";
