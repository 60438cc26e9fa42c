//! Weights as other programs keep them, a matrix for each gate.

use super::member::{GruColumns, GruMember, expect, size};
use crate::error::{NnError, Result};

/// A matrix of `hidden` rows for each gate: z, r and c.
#[derive(Clone, Debug, PartialEq)]
pub struct GruRows {
    /// Weights of the inputs, row-major `[hidden, input]`.
    pub w: [Vec<f32>; 3],
    /// Weights of the state, row-major `[hidden, hidden]`.
    pub u: [Vec<f32>; 3],
    /// Biases, `[hidden]`.
    pub b: [Vec<f32>; 3],
}

/// A matrix for each gate, z, r and c, that takes input and state side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct GruConcat {
    /// Row-major `[input + hidden, hidden]`: the rows of the inputs, then the rows of the state.
    pub weights: [Vec<f32>; 3],
    /// Biases, `[hidden]`.
    pub biases: [Vec<f32>; 3],
}

impl GruMember {
    /// Creates a unit from a matrix of `hidden` rows for each gate.
    ///
    /// The unit resets its state before the product.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_rows(input: usize, hidden: usize, rows: &GruRows) -> Result<Self> {
        const OP: &str = "gru_from_rows";
        let (of_w, of_u) = (size(OP, input, hidden)?, size(OP, hidden, hidden)?);
        for gate in 0..3 {
            expect(OP, "w", &rows.w[gate], of_w)?;
            expect(OP, "u", &rows.u[gate], of_u)?;
            expect(OP, "b", &rows.b[gate], hidden)?;
        }
        let side_by_side = |parts: &[Vec<f32>; 3], len: usize| {
            let mut all = Vec::with_capacity(3 * parts[0].len());
            for k in (0..len).take_while(|_| hidden > 0) {
                parts.iter().for_each(|part| all.extend((0..hidden).map(|j| part[j * len + k])));
            }
            all
        };
        let (w, u) = (side_by_side(&rows.w, input), side_by_side(&rows.u, hidden));
        Self::new(input, hidden, GruColumns { w, u, b: rows.b.concat(), bu: None })
    }

    /// A matrix of `hidden` rows for each gate.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for a unit that resets its state after the product: this form has no
    /// place for its `bu`.
    pub fn to_rows(&self) -> Result<GruRows> {
        self.refuse_reset_after("gru_to_rows")?;
        let hidden = self.hidden();
        let of = |all: &[f32], gate: usize| {
            let rows = || all.chunks_exact(3 * hidden);
            (0..hidden).flat_map(|j| rows().map(move |row| row[gate * hidden + j])).collect::<Vec<_>>()
        };
        let gates = [0, 1, 2];
        Ok(GruRows {
            w: gates.map(|gate| of(self.w(), gate)),
            u: gates.map(|gate| of(self.u(), gate)),
            b: gates.map(|gate| self.b()[gate * hidden..][..hidden].to_vec()),
        })
    }

    /// Creates a unit from matrices that take input and state side by side.
    ///
    /// There is a matrix for each gate. The unit resets its state before the product.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_concat(input: usize, hidden: usize, gates: &GruConcat) -> Result<Self> {
        const OP: &str = "gru_from_concat";
        let of_w = size(OP, input, hidden)?;
        let all = of_w.checked_add(size(OP, hidden, hidden)?).ok_or(NnError::Overflow { op: OP })?;
        for gate in 0..3 {
            expect(OP, "weights", &gates.weights[gate], all)?;
            expect(OP, "biases", &gates.biases[gate], hidden)?;
        }
        let side_by_side = |rows: core::ops::Range<usize>| {
            rows.take_while(|_| hidden > 0)
                .flat_map(|row| gates.weights.iter().flat_map(move |gate| &gate[row * hidden..][..hidden]))
                .copied()
                .collect::<Vec<_>>()
        };
        let (w, u) = (side_by_side(0..input), side_by_side(input..input + hidden));
        Self::new(input, hidden, GruColumns { w, u, b: gates.biases.concat(), bu: None })
    }

    /// A matrix for each gate that takes input and state side by side.
    ///
    /// # Errors
    /// As [`to_rows`](Self::to_rows).
    pub fn to_concat(&self) -> Result<GruConcat> {
        self.refuse_reset_after("gru_to_concat")?;
        let hidden = self.hidden();
        let of = |all: &[f32], gate: usize| {
            let rows = all.chunks_exact((3 * hidden).max(1));
            rows.flat_map(|row| row[gate * hidden..][..hidden].to_vec()).collect::<Vec<_>>()
        };
        let gates = [0, 1, 2];
        Ok(GruConcat {
            weights: gates.map(|gate| [of(self.w(), gate), of(self.u(), gate)].concat()),
            biases: gates.map(|gate| of(self.b(), gate)),
        })
    }

    fn refuse_reset_after(&self, op: &'static str) -> Result<()> {
        let refusal = |bu: &[f32]| Err(NnError::parameter(op, "biases within the reset", "none", bu.len() as f64));
        self.bu().map_or(Ok(()), refusal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: usize = 3;
    const HIDDEN: usize = 2;

    /// Distinct numbers, in the form of rows.
    fn rows() -> GruRows {
        let gates = [100.0f32, 200.0, 300.0];
        let count = |gate: f32, from: f32, len: usize| (0..len).map(|i| gate + from + i as f32).collect::<Vec<_>>();
        GruRows {
            w: gates.map(|gate| count(gate, 0.0, HIDDEN * INPUT)),
            u: gates.map(|gate| count(gate, 20.0, HIDDEN * HIDDEN)),
            b: gates.map(|gate| count(gate, 40.0, HIDDEN)),
        }
    }

    #[test]
    fn rows_become_columns_of_z_r_and_c_and_come_back() {
        let unit = GruMember::from_rows(INPUT, HIDDEN, &rows()).unwrap();
        assert_eq!(unit.w()[..6], [100.0, 103.0, 200.0, 203.0, 300.0, 303.0]);
        assert_eq!(unit.w()[6..9], [101.0, 104.0, 201.0]);
        assert_eq!(unit.u()[..4], [120.0, 122.0, 220.0, 222.0]);
        assert_eq!(unit.b(), [140.0, 141.0, 240.0, 241.0, 340.0, 341.0]);
        assert_eq!(unit.to_rows().unwrap(), rows());
    }

    #[test]
    fn joined_matrices_hold_the_rows_of_the_inputs_first_and_come_back() {
        let unit = GruMember::from_rows(INPUT, HIDDEN, &rows()).unwrap();
        let joined = unit.to_concat().unwrap();
        assert_eq!(joined.weights[1], [200.0, 203.0, 201.0, 204.0, 202.0, 205.0, 220.0, 222.0, 221.0, 223.0]);
        assert_eq!(GruMember::from_concat(INPUT, HIDDEN, &joined).unwrap(), unit);
    }

    #[test]
    fn units_without_states_have_no_weights_whatever_the_number_of_inputs() {
        for input in [0, 3, usize::MAX] {
            let unit = GruMember::new(input, 0, GruColumns::default()).unwrap();
            assert_eq!(GruMember::from_rows(input, 0, &unit.to_rows().unwrap()), Ok(unit.clone()));
            assert_eq!(GruMember::from_concat(input, 0, &unit.to_concat().unwrap()), Ok(unit));
        }
    }

    #[test]
    fn forms_of_other_sizes_or_without_a_place_for_a_bias_are_refused() {
        let mut short = rows();
        short.u[2].pop();
        let refused = GruMember::from_rows(INPUT, HIDDEN, &short).unwrap_err();
        assert_eq!(refused, NnError::Length { op: "gru_from_rows", tensor: "u", expected: 4, got: 3 });
        let mut joined = GruMember::from_rows(INPUT, HIDDEN, &rows()).unwrap().to_concat().unwrap();
        joined.biases[0].push(0.0);
        assert!(matches!(
            GruMember::from_concat(INPUT, HIDDEN, &joined),
            Err(NnError::Length { tensor: "biases", expected: 2, got: 3, .. })
        ));
        assert!(matches!(GruMember::from_rows(usize::MAX, 2, &rows()), Err(NnError::Overflow { .. })));
        let zeros = vec![0.0; 3];
        let columns = GruColumns { w: zeros.clone(), u: zeros.clone(), b: zeros, bu: Some(vec![0.0]) };
        let after = GruMember::new(1, 1, columns).unwrap();
        assert!(matches!(after.to_rows(), Err(NnError::Parameter { op: "gru_to_rows", .. })));
        assert!(matches!(after.to_concat(), Err(NnError::Parameter { op: "gru_to_concat", .. })));
    }
}
