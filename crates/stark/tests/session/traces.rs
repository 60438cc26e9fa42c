//! The traces of the vectors: equal to the traces of `vectors/stwo`, from the same words.

use core_types::field::{M31, P};
use stark_fft::{BitReversed, CanonicDomain, HostColumns, RowOrder};

use crate::statement::Statement;

/// Words that look random and are the same in each run.
struct SeededWords(u64);

impl SeededWords {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) % u64::from(bound)) as u32
    }

    fn column(&mut self, log_rows: u32) -> Vec<M31> {
        (0..1 << log_rows).map(|_| M31::from_u32(self.below(P))).collect()
    }
}

/// Columns in stored order: preprocessed columns, and the trace, component by component.
pub(crate) struct Traces {
    pub(crate) preprocessed: Vec<Vec<M31>>,
    pub(crate) trace: Vec<Vec<M31>>,
}

fn stored(rows: Vec<M31>) -> Vec<M31> {
    let domain = CanonicDomain::new(rows.len().ilog2()).unwrap();
    HostColumns::<RowOrder>::new(domain, rows).unwrap().into_order::<BitReversed>().as_slice().to_vec()
}

/// The columns of a statement.
pub(crate) fn traces(statement: &Statement, seed: u64) -> Traces {
    let mut words = SeededWords::new(seed);
    let word = M31::from_u32;
    let mut preprocessed: Vec<Vec<M31>> =
        statement.preprocessed().into_iter().map(|(_, log_rows)| words.column(log_rows)).collect();
    let trace: Vec<Vec<M31>> = match statement {
        Statement::WideFibonacci { log_rows, columns } => {
            let mut all = Vec::new();
            for (&log_rows, &width) in log_rows.iter().zip(columns) {
                let mut columns = vec![words.column(log_rows), words.column(log_rows)];
                for k in 2..width as usize {
                    let squares = columns[k - 2].iter().zip(&columns[k - 1]).map(|(&a, &b)| a * a + b * b);
                    let next = squares.collect();
                    columns.push(next);
                }
                all.extend(columns);
            }
            all
        }
        Statement::Neighbours { log_rows } => {
            let [x, z, u, s] = [(); 4].map(|()| words.column(*log_rows));
            let n = x.len();
            let at = |column: &[M31], row: usize, offset: usize| column[(row + n + offset - 2) % n];
            let y =
                (0..n).map(|r| at(&x, r, 0) * at(&x, r, 4) + at(&x, r, 1) - x[r] * word(3) + at(&x, r, 3)).collect();
            let v: Vec<M31> = (0..n).map(|r| at(&z, r, 1) * z[r]).collect();
            let t = (0..n).map(|r| u[r] * at(&u, r, 3) + v[r] - at(&s, r, 3)).collect();
            vec![x, y, z, v, u, s, t]
        }
        Statement::Cubes { log_rows } => {
            let x = words.column(*log_rows);
            let y = x.iter().zip(&preprocessed[0]).map(|(&x, &c)| x * x * x + c).collect();
            vec![x, y]
        }
        Statement::Selected { log_rows, .. } => {
            for ((id, _), rows) in statement.preprocessed().iter().zip(&mut preprocessed) {
                if id.starts_with("selector") {
                    rows.iter_mut().for_each(|row| *row = word(row.word() % 2));
                }
            }
            let named = |name: &str| statement.preprocessed().iter().position(|(id, _)| *id == name).unwrap();
            let columns = [("selector-1", "offset-1"), (statement.second_selector(), "offset-2")];
            let mut all = Vec::new();
            for (&log_rows, (selector, offset)) in log_rows.iter().zip(columns) {
                let (selector, offset) = (&preprocessed[named(selector)], &preprocessed[named(offset)]);
                let [a, b] = [(); 2].map(|()| words.column(log_rows));
                let row = |r: usize| offset[r] + a[r] * b[r] + selector[r] * (a[r] + b[r] - a[r] * b[r]);
                let c = (0..a.len()).map(row).collect();
                all.extend([a, b, c]);
            }
            all
        }
        Statement::StateMachine { log_rows, .. } => {
            let (x, y) = (words.below(P), words.below(P));
            vec![(0..1 << log_rows).map(|r| word(x) + word(r)).collect(), vec![word(y); 1 << log_rows]]
        }
        Statement::Xor { log_rows, bits } => {
            let side = 1 << bits;
            preprocessed[0] = (0..side * side).map(|r| word(r / side)).collect();
            preprocessed[1] = (0..side * side).map(|r| word(r % side)).collect();
            preprocessed[2] = (0..side * side).map(|r| word((r / side) ^ (r % side))).collect();
            let mut multiplicity = vec![M31::ZERO; (side * side) as usize];
            let mut used = [vec![], vec![], vec![]];
            for _ in 0..1 << log_rows {
                let (a, b) = (words.below(side), words.below(side));
                let c = a ^ b;
                for (x, y, times) in [(a, b, 1), (b, a, 1), (a, c, 2)] {
                    multiplicity[(x * side + y) as usize] += word(times);
                }
                for (column, value) in used.iter_mut().zip([a, b, c]) {
                    column.push(word(value));
                }
            }
            used.into_iter().chain([multiplicity]).collect()
        }
        other => panic!("{other:?} ships"),
    };
    let stored = |columns: Vec<Vec<M31>>| columns.into_iter().map(stored).collect();
    Traces { preprocessed: stored(preprocessed), trace: stored(trace) }
}
