//! An AIR makes the columns of its look-ups and checks them, through the same definition.

use core_types::{
    air::{Air, Fraction, LogUp, Relation, Row, Tree},
    field::{M31, QM31},
};

/// Steps `(x, y) -> (x + y, y)`, each used and yielded, and a look-up that is alone in its column.
struct Steps {
    log_rows: u32,
}

const STATES: Relation = Relation::new(0, 2);
const ALONE: Relation = Relation::new(STATES.slots(), 1);

impl Air for Steps {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let [x, next] = row.mask(Tree::TRACE, [0, 1]);
        let y = row.column();
        let is_last = row.preprocessed(0);
        row.constraint((next - x - y) * (R::F::from(M31::ONE) - is_last));
        let one = R::E::from(R::F::from(M31::ONE));
        let mut states = LogUp::new(2);
        states.entry(row, STATES, one, &[x, y]);
        states.entry(row, STATES, -one, &[x + y, y]);
        states.entry(row, ALONE, R::E::from(y), &[x]);
        states.finish(row);
    }
}

struct Trace {
    columns: [Vec<M31>; 2],
    is_last: Vec<M31>,
    /// Partial sums of each row, then running sums.
    sums: [Vec<QM31>; 2],
    challenges: [QM31; 3],
    mean: QM31,
}

/// A row of a trace, and how many of its constraints are not zero.
struct TraceRow<'t> {
    trace: &'t Trace,
    at: usize,
    column: usize,
    coordinate: usize,
    broken: usize,
}

impl<'t> TraceRow<'t> {
    fn new(trace: &'t Trace, at: usize) -> Self {
        Self { trace, at, column: 0, coordinate: 0, broken: 0 }
    }
}

impl Row for TraceRow<'_> {
    type F = M31;
    type E = QM31;

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [M31; K] {
        let len = self.trace.is_last.len() as i32;
        let rows = offsets.map(|offset| (self.at as i32 + offset).rem_euclid(len) as usize);
        if tree == Tree::TRACE {
            self.column += 1;
            return rows.map(|row| self.trace.columns[self.column - 1][row]);
        }
        self.coordinate += 1;
        let (sum, coordinate) = ((self.coordinate - 1) / 4, (self.coordinate - 1) % 4);
        rows.map(|row| self.trace.sums[sum][row].coordinates()[coordinate])
    }

    fn preprocessed(&mut self, _: u32) -> M31 {
        self.trace.is_last[self.at]
    }

    fn challenge(&mut self, slot: u32) -> QM31 {
        self.trace.challenges[slot as usize]
    }

    fn mean(&mut self) -> QM31 {
        self.trace.mean
    }

    fn constraint(&mut self, value: M31) {
        self.broken += usize::from(value != M31::ZERO);
    }

    fn constraint_ext(&mut self, value: QM31) {
        self.broken += usize::from(value != QM31::ZERO);
    }
}

/// A row that makes the sums of its fractions instead of checking them.
struct SumsOfRow<'t> {
    row: TraceRow<'t>,
    sums: Vec<QM31>,
}

impl Row for SumsOfRow<'_> {
    type F = M31;
    type E = QM31;

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [M31; K] {
        self.row.mask(tree, offsets)
    }

    fn preprocessed(&mut self, slot: u32) -> M31 {
        self.row.preprocessed(slot)
    }

    fn challenge(&mut self, slot: u32) -> QM31 {
        self.row.challenge(slot)
    }

    fn mean(&mut self) -> QM31 {
        QM31::ZERO
    }

    fn constraint(&mut self, _: M31) {}

    fn constraint_ext(&mut self, _: QM31) {}

    fn partial_sum(&mut self, previous: Option<QM31>, fraction: Fraction<QM31>) -> QM31 {
        let term = fraction.numerator * fraction.denominator.inverse().expect("no value is z");
        let sum = previous.unwrap_or(QM31::ZERO) + term;
        self.sums.push(sum);
        sum
    }

    fn running_sum(&mut self, previous: Option<QM31>, fraction: Fraction<QM31>) {
        self.partial_sum(previous, fraction);
    }
}

/// A trace that satisfies the constraints, with the columns of its look-ups.
fn trace(air: &Steps) -> Trace {
    let rows = 1u32 << air.log_rows;
    let word = M31::from_u32;
    let columns = [(0..rows).map(|r| word(5 + 3 * r)).collect(), vec![word(3); rows as usize]];
    let is_last = (0..rows).map(|r| word(u32::from(r == rows - 1))).collect();
    let z = QM31::from_coordinates([1, 2, 3, 4].map(word));
    let alpha = QM31::from_coordinates([7, 5, 3, 2].map(word));
    let alone = QM31::from_coordinates([9, 8, 7, 6].map(word));
    let mut trace = Trace { columns, is_last, sums: [vec![], vec![]], challenges: [z, alpha, alone], mean: QM31::ZERO };
    let mut totals = Vec::new();
    for at in 0..rows as usize {
        let mut row = SumsOfRow { row: TraceRow::new(&trace, at), sums: vec![] };
        air.eval(&mut row);
        let [partial, total] = row.sums[..] else { panic!("expected two columns") };
        trace.sums[0].push(partial);
        totals.push(total);
    }
    let claimed = totals.iter().fold(QM31::ZERO, |sum, &total| sum + total);
    trace.mean = claimed.scale(word(rows).inverse().expect("not zero"));
    let mut sum = QM31::ZERO;
    for total in totals {
        sum = sum + total - trace.mean;
        trace.sums[1].push(sum);
    }
    assert_eq!(sum, QM31::ZERO);
    trace
}

fn broken(air: &Steps, trace: &Trace) -> Vec<usize> {
    let row = |at| {
        let mut row = TraceRow::new(trace, at);
        air.eval(&mut row);
        row.broken
    };
    (0..trace.is_last.len()).map(row).collect()
}

#[test]
fn columns_made_by_an_air_satisfy_it() {
    let air = Steps { log_rows: 4 };
    assert_eq!(broken(&air, &trace(&air)), [0; 16]);
}

#[test]
fn constraints_see_every_column_that_is_wrong() {
    let air = Steps { log_rows: 4 };
    let good = trace(&air);
    let with = |change: &dyn Fn(&mut Trace)| {
        let Trace { columns, is_last, sums, challenges, mean } = &good;
        let (columns, is_last, sums) = (columns.clone(), is_last.clone(), sums.clone());
        let mut changed = Trace { columns, is_last, sums, challenges: *challenges, mean: *mean };
        change(&mut changed);
        broken(&air, &changed)
    };
    let only = |rows: &[(usize, usize)]| {
        let mut expected = vec![0; 16];
        rows.iter().for_each(|&(row, count)| expected[row] = count);
        expected
    };
    // A value is in its row's step and both look-ups, and in the step before.
    assert_eq!(with(&|t| t.columns[0][6] += M31::ONE), only(&[(5, 1), (6, 3)]));
    assert_eq!(with(&|t| t.sums[0][6] += QM31::U), only(&[(6, 2)]));
    assert_eq!(with(&|t| t.sums[1][15] += QM31::I), only(&[(15, 1), (0, 1)]));
    assert_eq!(with(&|t| t.mean += QM31::ONE), vec![1; 16]);
}
