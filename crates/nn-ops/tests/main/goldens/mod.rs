//! What PyTorch makes of the same inputs in f64, on the processor and on the simulated device.
//!
//! `tests/reference/goldens.py` writes the file. Every result in it is compared.

mod attention;
mod elements;
mod language;
mod layers;
mod products;
mod recurrent;
mod rows;
mod training;

use std::{cell::RefCell, collections::BTreeMap};

use nn_ops::{ParameterArena, Tensor};
use runtime::{AnyQueue, Choice, Settings};
use safetensors::{Dtype, SafeTensors};

use crate::common::DeviceTensor;

/// Relative and absolute error of results that take a few roundings.
const CLOSE: (f64, f64) = (2e-6, 1e-6);

/// Error of results of many roundings, relative to the largest element of a tensor.
///
/// Terms of a sum cancel, so the error of a small element follows the large ones. On these inputs,
/// PyTorch's passes in f32 have errors up to 6e-7, and up to 1.3e-6 if their functions have errors
/// of 4e-7, the bound of sigmoid and tanh here. The rest is for other orders of sums, and for the
/// weights of attention, which the backward pass computes again.
const OF_LARGEST: f64 = 5e-6;

/// Shapes and values by name.
type NamedArrays<T> = BTreeMap<String, (Vec<usize>, Vec<T>)>;

/// The contents of the file, and the device.
struct Goldens {
    q: AnyQueue,
    inputs: NamedArrays<f32>,
    /// Those that are still to be compared.
    results: RefCell<NamedArrays<f64>>,
}

impl Goldens {
    fn open(choice: Choice) -> Self {
        let file = SafeTensors::deserialize(include_bytes!("../../golden/pytorch.safetensors")).unwrap();
        let (mut inputs, mut results) = (NamedArrays::new(), NamedArrays::new());
        for (name, view) in file.iter() {
            let (name, shape, bytes) = (name.to_owned(), view.shape().to_vec(), view.data());
            if view.dtype() == Dtype::F32 {
                let values = bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap()));
                inputs.insert(name, (shape, values.collect()));
            } else {
                assert_eq!(view.dtype(), Dtype::F64, "{name}");
                let values = bytes.chunks_exact(8).map(|word| f64::from_le_bytes(word.try_into().unwrap()));
                results.insert(name, (shape, values.collect()));
            }
        }
        let (q, _) = runtime::open_with(&Settings::default(), None, Some(choice)).unwrap();
        Self { q, inputs, results: RefCell::new(results) }
    }

    /// An input, on the host.
    fn values(&self, name: &str) -> &[f32] {
        &self.inputs[name].1
    }

    /// An input whose elements are whole numbers.
    fn indices(&self, name: &str) -> Vec<u32> {
        self.values(name).iter().map(|&value| value as u32).collect()
    }

    /// An input, on the device.
    fn input(&self, name: &str) -> DeviceTensor {
        let (shape, values) = &self.inputs[name];
        Tensor::from_values(&self.q, shape, values).unwrap()
    }

    /// Room for a result.
    fn room(&self, shape: &[usize]) -> DeviceTensor {
        Tensor::alloc(&self.q, shape).unwrap()
    }

    /// Holds a tensor on the device to a result, its shape too.
    fn hold(&self, name: &str, got: &DeviceTensor, bounds: (f64, f64)) {
        assert_eq!(got.layout().shape(), self.results.borrow()[name].0, "{name}");
        self.hold_values(name, &got.values(&self.q).unwrap(), bounds);
    }

    /// Compares a tensor on the device with a result, its shape too, within [`OF_LARGEST`].
    fn hold_near(&self, name: &str, got: &DeviceTensor) {
        self.hold(name, got, (0.0, self.near(name)));
    }

    /// Compares values with a result, which is not to be compared again, within [`OF_LARGEST`].
    fn hold_values_near(&self, name: &str, got: &[f32]) {
        self.hold_values(name, got, (0.0, self.near(name)));
    }

    /// Compares every tensor of an arena with the result named `prefix` and its name.
    fn hold_arena(&self, prefix: &str, arena: &ParameterArena<AnyQueue, f32>) {
        let table = arena.table();
        for id in table.ids() {
            let name = format!("{prefix}{}", table.name(id).unwrap());
            assert_eq!(table.layout(id).unwrap().shape(), self.results.borrow()[&name].0, "{name}");
            self.hold_values_near(&name, &arena.values(&self.q, id).unwrap());
        }
    }

    /// The absolute error allowed by [`OF_LARGEST`] in the elements of a result.
    fn near(&self, name: &str) -> f64 {
        let results = self.results.borrow();
        let finite = results[name].1.iter().map(|value| value.abs()).filter(|value| value.is_finite());
        OF_LARGEST * finite.fold(0.0, f64::max)
    }

    /// The first elements of a result, which is not to be compared again.
    fn first_of_result(&self, name: &str, count: usize) -> Vec<f64> {
        let (_, mut expected) = self.results.borrow_mut().remove(name).unwrap_or_else(|| panic!("no result {name}"));
        expected.truncate(count);
        expected
    }

    /// Holds values to a result, which is not to be compared again.
    fn hold_values(&self, name: &str, got: &[f32], (rtol, atol): (f64, f64)) {
        let (_, expected) = self.results.borrow_mut().remove(name).unwrap_or_else(|| panic!("no result {name}"));
        assert_eq!(got.len(), expected.len(), "{name}");
        for (at, (&got, &expected)) in got.iter().zip(&expected).enumerate() {
            let is_close =
                f64::from(got) == expected || (f64::from(got) - expected).abs() <= rtol * expected.abs() + atol;
            assert!(is_close, "{name}, element {at}: {got:e} instead of {expected:e}");
        }
    }
}

fn hold_all(choice: Choice) {
    let goldens = Goldens::open(choice);
    rows::hold(&goldens);
    elements::hold(&goldens);
    products::hold(&goldens);
    training::hold(&goldens);
    recurrent::hold(&goldens);
    attention::hold(&goldens);
    layers::hold(&goldens);
    language::hold(&goldens);
    let left: Vec<String> = goldens.results.into_inner().into_keys().collect();
    assert_eq!(left, Vec::<String>::new(), "results that nothing was compared with");
}

#[test]
fn the_processor_agrees_with_pytorch() {
    hold_all(Choice::Cpu);
}

#[test]
fn the_kernels_agree_with_pytorch() {
    hold_all(Choice::Sim);
}
