//! Traces of the AIRs.

use stwo::core::{
    fields::m31::{BaseField, P},
    poly::circle::CanonicCoset,
    utils::bit_reverse_coset_to_circle_domain_order,
};
use stwo::prover::{
    backend::simd::{SimdBackend, column::BaseColumn},
    poly::{BitReversedOrder, circle::CircleEvaluation},
};

use crate::{
    shipped::poseidon2,
    statement::{Statement, gate, outputs},
    witness::blake2s_trace::hash,
    witness::rows::Rows,
};

pub type TraceColumn = CircleEvaluation<SimdBackend, BaseField, BitReversedOrder>;

/// Words that look random and are the same in each run.
pub struct Words(u64);

impl Words {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) % u64::from(bound)) as u32
    }

    fn column(&mut self, log_rows: u32) -> Vec<BaseField> {
        (0..1 << log_rows).map(|_| BaseField::from(self.below(P))).collect()
    }
}

/// A column from its rows.
pub fn column(mut rows: Vec<BaseField>) -> TraceColumn {
    bit_reverse_coset_to_circle_domain_order(&mut rows);
    let log_rows = rows.len().ilog2();
    CircleEvaluation::new(CanonicCoset::new(log_rows).circle_domain(), BaseColumn::from_iter(rows))
}

/// Columns from their rows.
pub fn columns<'r>(rows: impl IntoIterator<Item = &'r Vec<BaseField>>) -> Vec<TraceColumn> {
    rows.into_iter().cloned().map(column).collect()
}

/// The rows of a statement.
pub fn rows(statement: &Statement, seed: u64) -> Rows {
    let mut words = Words::new(seed);
    let mut preprocessed: Vec<_> =
        statement.preprocessed().into_iter().map(|(_, log_rows)| words.column(log_rows)).collect();
    let trace = match statement {
        Statement::WideFibonacci { log_rows, columns } => log_rows
            .iter()
            .zip(columns)
            .map(|(&log_rows, &width)| {
                let mut columns = vec![words.column(log_rows), words.column(log_rows)];
                for k in 2..width as usize {
                    let next = columns[k - 2].iter().zip(&columns[k - 1]).map(|(a, b)| *a * *a + *b * *b).collect();
                    columns.push(next);
                }
                columns
            })
            .collect(),
        Statement::Neighbours { log_rows } => {
            let [x, z, u, s] = [(); 4].map(|()| words.column(*log_rows));
            let n = x.len();
            let at = |column: &[BaseField], r: usize, offset: isize| {
                column[(r as isize + offset).rem_euclid(n as isize) as usize]
            };
            let three = BaseField::from(3);
            let y =
                (0..n).map(|r| at(&x, r, -2) * at(&x, r, 2) + at(&x, r, -1) - three * x[r] + at(&x, r, 1)).collect();
            let v: Vec<_> = (0..n).map(|r| at(&z, r, -1) * z[r]).collect();
            let t = (0..n).map(|r| u[r] * at(&u, r, 1) + v[r] - at(&s, r, 1)).collect();
            vec![vec![x, y, z, v, u, s, t]]
        }
        Statement::Cubes { log_rows } => {
            let x = words.column(*log_rows);
            let y = x.iter().zip(&preprocessed[0]).map(|(x, c)| *x * *x * *x + *c).collect();
            vec![vec![x, y]]
        }
        Statement::Selected { log_rows, .. } => {
            for ((id, _), rows) in statement.preprocessed().iter().zip(&mut preprocessed) {
                if id.starts_with("selector") {
                    rows.iter_mut().for_each(|row| *row = BaseField::from(row.0 % 2));
                }
            }
            let named = |name: &str| statement.preprocessed().iter().position(|(id, _)| *id == name).unwrap();
            let columns = [("selector-1", "offset-1"), (statement.second_selector(), "offset-2")];
            log_rows
                .iter()
                .zip(columns)
                .map(|(&log_rows, (selector, offset))| {
                    let (selector, offset) = (&preprocessed[named(selector)], &preprocessed[named(offset)]);
                    let [a, b] = [(); 2].map(|()| words.column(log_rows));
                    let c = (0..a.len())
                        .map(|r| offset[r] + a[r] * b[r] + selector[r] * (a[r] + b[r] - a[r] * b[r]))
                        .collect();
                    vec![a, b, c]
                })
                .collect()
        }
        Statement::StateMachine { log_rows, .. } => {
            let (x, y) = (words.below(P), words.below(P));
            let x = (0..1 << log_rows).map(|r| BaseField::from(x) + BaseField::from(r)).collect();
            vec![vec![x, vec![BaseField::from(y); 1 << log_rows]]]
        }
        &Statement::Steps { log_rows: [n, m], first } => {
            let [x, y] = first.map(BaseField::from);
            let steps =
                |from: BaseField, log_rows: u32| (0..1 << log_rows).map(|r| from + BaseField::from(r)).collect();
            let last = x + BaseField::from(1 << n);
            vec![vec![steps(x, n), vec![y; 1 << n]], vec![vec![last; 1 << m], steps(y, m)]]
        }
        &Statement::Plonk { gates, inputs, .. } => {
            let rows: Vec<_> = (0..gates.next_power_of_two())
                .map(|k| {
                    let (adds, [a, b]) = if k < gates { gate(k) } else { (true, [k + 2; 2]) };
                    [a, b, k + 2, u32::from(adds)]
                })
                .collect();
            let values = wires(gates, inputs);
            let mut reads = vec![0; values.len()];
            let read = rows.iter().flat_map(|&[a, b, ..]| [a, b]).chain(outputs(gates));
            read.for_each(|wire| reads[wire as usize] += 1);
            for (k, column) in preprocessed.iter_mut().enumerate() {
                *column = rows.iter().map(|row| BaseField::from(row[k])).collect();
            }
            let value = |k: usize| rows.iter().map(|row| values[row[k] as usize]).collect();
            let reads = rows.iter().map(|row| BaseField::from(reads[row[2] as usize])).collect();
            vec![vec![reads, value(0), value(1), value(2)]]
        }
        &Statement::Poseidon2 { log_rows, first, last } => {
            let (columns, state) = permutations(log_rows, first);
            assert_eq!(state, last);
            vec![columns]
        }
        &Statement::Blake2s { log_blocks, digest } => {
            let (rows, found) = hash(log_blocks);
            assert_eq!(found, digest);
            return rows;
        }
        Statement::Xor { log_rows, bits } => {
            let side = 1 << bits;
            preprocessed[0] = (0..side * side).map(|r| BaseField::from(r / side)).collect();
            preprocessed[1] = (0..side * side).map(|r| BaseField::from(r % side)).collect();
            preprocessed[2] = (0..side * side).map(|r| BaseField::from((r / side) ^ (r % side))).collect();
            let mut multiplicity = vec![BaseField::from(0); (side * side) as usize];
            let mut used = vec![Vec::new(); 3];
            for _ in 0..1 << log_rows {
                let (a, b) = (words.below(side), words.below(side));
                let c = a ^ b;
                for (x, y, times) in [(a, b, 1), (b, a, 1), (a, c, 2)] {
                    multiplicity[(x * side + y) as usize] += BaseField::from(times);
                }
                for (column, value) in used.iter_mut().zip([a, b, c]) {
                    column.push(BaseField::from(value));
                }
            }
            vec![used, vec![multiplicity]]
        }
    };
    Rows { preprocessed, trace }
}

/// The values of a circuit's wires.
///
/// They include the rows after the last gate, which add their own wire to itself.
pub fn wires(gates: u32, inputs: [u32; 2]) -> Vec<BaseField> {
    let mut values = inputs.map(BaseField::from).to_vec();
    for (adds, [a, b]) in (0..gates).map(gate) {
        let (a, b) = (values[a as usize], values[b as usize]);
        values.push(if adds { a + b } else { a * b });
    }
    values.resize(2 + gates.next_power_of_two() as usize, BaseField::from(0));
    values
}

/// The rows of a chain of permutations, and the final state.
///
/// A row has the state that a permutation takes, and the square and the output of each S-box.
pub fn permutations(log_rows: u32, first: [u32; 16]) -> (Vec<Vec<BaseField>>, [u32; 16]) {
    let mut state = first.map(BaseField::from);
    let mut columns = vec![Vec::new(); 16 + 2 * 142];
    for _ in 0..1 << log_rows {
        let mut row = state.to_vec();
        state = poseidon2(state, &mut |x| {
            let square = x * x;
            row.extend([square, square * square * x]);
            square * square * x
        });
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    (columns, state.map(|word| word.0))
}
