//! Weights as PyTorch's `torch.nn.GRU` keeps them.
//!
//! PyTorch's step is `(1 - z) n + z h`; here a step is `h + z (c - h)`, with `c = n` and `z` for
//! PyTorch's `1 - z`. For the sum `v` of a gate, `1 - s(v) = s(-v)`.

use core::iter::repeat_n;

use super::member::{GruColumns, GruMember, size};
use crate::{
    error::{NnError, Result},
    io::weights::{Tensor, Tensors},
};

const OP: &str = "gru_from_torch";

/// The kind of PyTorch unit that tensors describe. A number is the index of a layer.
///
/// ```
/// use nn_ops::TorchUnit;
///
/// assert_eq!(TorchUnit::from(2), TorchUnit::Layer(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TorchUnit {
    /// A layer of `torch.nn.GRU`: names end in `_l0` for layer 0.
    Layer(usize),
    /// The backward unit of a bidirectional layer: names end in `_l0_reverse`.
    ///
    /// It takes the steps from the last one on.
    Reverse(usize),
    /// `torch.nn.GRUCell`: names without an end.
    Cell,
}

impl From<usize> for TorchUnit {
    fn from(layer: usize) -> Self {
        Self::Layer(layer)
    }
}

impl TorchUnit {
    /// The name of a tensor.
    fn name(self, prefix: &str, part: &str) -> String {
        match self {
            Self::Layer(layer) => format!("{prefix}{part}_l{layer}"),
            Self::Reverse(layer) => format!("{prefix}{part}_l{layer}_reverse"),
            Self::Cell => format!("{prefix}{part}"),
        }
    }
}

/// Reorders PyTorch's gates r, z, n to -z, r, n.
///
/// PyTorch's n is c here. PyTorch's z is the part of the old state that a step keeps, while z here
/// is the part of the candidate that it takes: their sums have opposite signs.
fn reordered(gates: &[f32], len: usize) -> impl Iterator<Item = f32> + '_ {
    let part = |gate: usize| &gates[gate * len..][..len];
    part(1).iter().map(|z| -z).chain(part(0).iter().copied()).chain(part(2).iter().copied())
}

/// Transposes rows `[3 hidden, columns]` to columns `[columns, 3 hidden]`.
///
/// The gates are reordered for the target format.
fn turned(rows: &[f32], hidden: usize, columns: usize) -> Vec<f32> {
    let mut all = Vec::with_capacity(rows.len());
    for k in (0..columns).take_while(|_| hidden > 0) {
        let column: Vec<f32> = (0..3 * hidden).map(|row| rows[row * columns + k]).collect();
        all.extend(reordered(&column, hidden));
    }
    all
}

/// [`turned`] the other way.
fn turned_back(all: &[f32], hidden: usize, columns: usize) -> Vec<f32> {
    let mut rows = vec![0.0; all.len()];
    for (k, column) in all.chunks_exact((3 * hidden).max(1)).enumerate() {
        // the exchange of the first two gates, with the sign of one of them, is its own inverse but for which of them that is
        let (z, rest) = column.split_at(hidden);
        let (r, n) = rest.split_at(hidden);
        let gates = r.iter().copied().chain(z.iter().map(|z| -z)).chain(n.iter().copied());
        gates.enumerate().for_each(|(row, value)| rows[row * columns + k] = value);
    }
    rows
}

impl GruMember {
    /// A unit from PyTorch's tensors whose names begin with `prefix`.
    ///
    /// The names go on with `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0` and `bias_hh_l0` for layer
    /// 0, otherwise as listed in [`TorchUnit`]; without biases these are zeros. Its reset comes
    /// after the product.
    ///
    /// # Errors
    /// [`NnError::MissingTensor`] for a weight, or one bias without the other;
    /// [`NnError::NamedTensor`] for a tensor of another shape than the others imply.
    pub fn from_torch(tensors: &Tensors, prefix: &str, unit: impl Into<TorchUnit>) -> Result<Self> {
        let unit = unit.into();
        let named = |part: &str| unit.name(prefix, part);
        let weights = |part: &str| {
            let name = named(part);
            let tensor = tensors.get(&name).ok_or_else(|| NnError::MissingTensor { name: name.clone() })?;
            let &[rows, columns] = &tensor.shape[..] else {
                let reason = NnError::Rank { op: OP, tensor: "weight", expected: 2, got: tensor.shape.len() };
                return Err(NnError::named(name, reason));
            };
            Ok((name, tensor, rows, columns))
        };
        // The state weights give the hidden size.
        let (name, of_states, _, hidden) = weights("weight_hh")?;
        let rows = size(OP, 3, hidden)?;
        admit(&name, of_states, &[rows, hidden])?;
        let (name, of_inputs, _, input) = weights("weight_ih")?;
        admit(&name, of_inputs, &[rows, input])?;
        let bias = |part: &str| {
            let name = named(part);
            let tensor = tensors.get(&name).ok_or_else(|| NnError::MissingTensor { name: name.clone() })?;
            admit(&name, tensor, &[rows])?;
            Ok::<_, NnError>(reordered(&tensor.data, hidden).collect::<Vec<f32>>())
        };
        // Biases of z and r are added up; the state bias of the candidate stays apart.
        let (mut b, mut bu) = (vec![0.0; rows], vec![0.0; hidden]);
        if ["bias_ih", "bias_hh"].iter().any(|part| tensors.contains_key(&named(part))) {
            let of_states = bias("bias_hh")?;
            let (gates, candidate) = of_states.split_at(2 * hidden);
            b = bias("bias_ih")?;
            b.iter_mut().zip(gates).for_each(|(b, of_state)| *b += of_state);
            bu.copy_from_slice(candidate);
        }
        // Rows become columns in the order of this crate.
        let (w, u) = (turned(&of_inputs.data, hidden, input), turned(&of_states.data, hidden, hidden));
        Self::new(input, hidden, GruColumns { w, u, b, bu: Some(bu) })
    }

    /// Adds the tensors that [`from_torch`](Self::from_torch) reads.
    ///
    /// The biases of z and r are written as input biases, and their state biases are zero.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for a unit that resets its state before the product, which PyTorch
    /// does not have.
    pub fn to_torch(&self, prefix: &str, unit: impl Into<TorchUnit>, tensors: &mut Tensors) -> Result<()> {
        let unit = unit.into();
        let Some(bu) = self.bu() else {
            return Err(NnError::parameter("gru_to_torch", "biases within the reset", "there", 0.0));
        };
        let (input, hidden) = (self.input(), self.hidden());
        let mut insert = |part: &str, shape: &[usize], data: Vec<f32>| {
            tensors.insert(unit.name(prefix, part), Tensor { shape: shape.to_vec(), data });
        };
        insert("weight_ih", &[3 * hidden, input], turned_back(self.w(), hidden, input));
        insert("weight_hh", &[3 * hidden, hidden], turned_back(self.u(), hidden, hidden));
        insert("bias_ih", &[3 * hidden], turned_back(self.b(), hidden, 1));
        insert("bias_hh", &[3 * hidden], repeat_n(0.0, 2 * hidden).chain(bu.iter().copied()).collect());
        Ok(())
    }
}

/// Refuses a tensor of another shape.
fn admit(name: &str, tensor: &Tensor, expected: &[usize]) -> Result<()> {
    let elements = expected.iter().try_fold(1usize, |all, &len| all.checked_mul(len)).unwrap_or(usize::MAX);
    let reason = if tensor.shape != expected {
        NnError::shape(OP, "a parameter", expected, &tensor.shape[..])
    } else if tensor.data.len() != elements {
        NnError::Length { op: OP, tensor: "a parameter", expected: elements, got: tensor.data.len() }
    } else {
        return Ok(());
    };
    Err(NnError::named(name, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: usize = 3;
    const HIDDEN: usize = 2;

    fn tensor(shape: &[usize], from: f32) -> Tensor {
        let len = shape.iter().product::<usize>();
        Tensor { shape: shape.to_vec(), data: (0..len).map(|i| from + i as f32).collect() }
    }

    fn tensors() -> Tensors {
        Tensors::from([
            ("gru.weight_ih_l0".to_owned(), tensor(&[3 * HIDDEN, INPUT], 100.0)),
            ("gru.weight_hh_l0".to_owned(), tensor(&[3 * HIDDEN, HIDDEN], 200.0)),
            ("gru.bias_ih_l0".to_owned(), tensor(&[3 * HIDDEN], 300.0)),
            ("gru.bias_hh_l0".to_owned(), tensor(&[3 * HIDDEN], 400.0)),
        ])
    }

    #[test]
    fn gates_change_places_and_z_its_sign() {
        let unit = GruMember::from_torch(&tensors(), "gru.", 0).unwrap();
        // row 2 of PyTorch is the first of z, row 0 of r, row 4 of n
        assert_eq!(unit.w()[..6], [-106.0, -109.0, 100.0, 103.0, 112.0, 115.0]);
        assert_eq!(unit.u()[6..], [-205.0, -207.0, 201.0, 203.0, 209.0, 211.0]);
        assert_eq!(unit.b(), [-704.0, -706.0, 700.0, 702.0, 304.0, 305.0]);
        assert_eq!(unit.bu(), Some(&[404.0, 405.0][..]));
    }

    #[test]
    fn a_unit_comes_back_from_its_tensors() {
        let unit = GruMember::from_torch(&tensors(), "gru.", 0).unwrap();
        let mut exported = Tensors::new();
        unit.to_torch("", 3, &mut exported).unwrap();
        assert_eq!(exported["weight_ih_l3"], tensors()["gru.weight_ih_l0"]);
        assert_eq!(exported["weight_hh_l3"], tensors()["gru.weight_hh_l0"]);
        assert_eq!(GruMember::from_torch(&exported, "", 3).unwrap(), unit);
        exported.remove("bias_ih_l3");
        let missing = NnError::MissingTensor { name: "bias_ih_l3".to_owned() };
        assert_eq!(GruMember::from_torch(&exported, "", 3), Err(missing));
        exported.remove("bias_hh_l3");
        let plain = GruMember::from_torch(&exported, "", 3).unwrap();
        assert_eq!((plain.b(), plain.bu()), (&[0.0; 6][..], Some(&[0.0; 2][..])));
    }

    #[test]
    fn cells_and_units_of_the_other_direction_have_names_of_their_own() {
        let unit = GruMember::from_torch(&tensors(), "gru.", 0).unwrap();
        for (of, name) in [(TorchUnit::Cell, "cell.weight_hh"), (TorchUnit::Reverse(1), "cell.weight_hh_l1_reverse")] {
            let mut exported = Tensors::new();
            unit.to_torch("cell.", of, &mut exported).unwrap();
            assert_eq!(exported[name], tensors()["gru.weight_hh_l0"]);
            assert_eq!(GruMember::from_torch(&exported, "cell.", of).as_ref(), Ok(&unit));
            assert!(GruMember::from_torch(&exported, "cell.", 1).is_err());
        }
    }

    #[test]
    fn a_unit_without_states_goes_and_comes_back() {
        let unit = GruMember::new(1 << 60, 0, GruColumns { bu: Some(Vec::new()), ..GruColumns::default() }).unwrap();
        let mut exported = Tensors::new();
        unit.to_torch("", 0, &mut exported).unwrap();
        assert_eq!(exported["weight_ih_l0"].shape, [0, 1 << 60]);
        assert_eq!(GruMember::from_torch(&exported, "", 0), Ok(unit));
    }

    #[test]
    fn tensors_of_other_shapes_are_refused_by_name() {
        for (name, shape) in [
            ("gru.weight_ih_l0", &[5, INPUT][..]),
            ("gru.weight_hh_l0", &[6, 3]),
            ("gru.weight_hh_l0", &[12]),
            ("gru.bias_hh_l0", &[5]),
        ] {
            let mut tensors = tensors();
            tensors.insert(name.to_owned(), tensor(shape, 0.0));
            match GruMember::from_torch(&tensors, "gru.", 0) {
                Err(NnError::NamedTensor { name: refused, .. }) => assert_eq!(refused, name),
                other => panic!("{other:?}"),
            }
        }
        let columns = GruColumns { w: vec![0.0; 3], u: vec![0.0; 3], b: vec![0.0; 3], bu: None };
        let before = GruMember::new(1, 1, columns).unwrap();
        assert!(matches!(before.to_torch("", 0, &mut Tensors::new()), Err(NnError::Parameter { .. })));
    }
}
