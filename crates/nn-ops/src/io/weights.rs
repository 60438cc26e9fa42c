//! Named f32 tensors from and to the bytes of safetensors files.

use std::collections::BTreeMap;

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use thiserror::Error;

/// Why bytes are not a safetensors file of f32 tensors.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// The container is malformed.
    #[error("safetensors: {reason}")]
    Container {
        /// What the format's own checks found.
        reason: String,
    },
    /// A tensor is of another type.
    #[error("tensor `{name}`: expected F32, got {got}")]
    DType {
        /// The tensor.
        name: String,
        /// Its type.
        got: String,
    },
    /// Data and shape to be written do not agree.
    #[error("tensor `{name}`: expected {expected} elements for the shape, got {got}")]
    Length {
        /// The tensor.
        name: String,
        /// Product of the shape, saturated.
        expected: usize,
        /// Elements given.
        got: usize,
    },
}

/// A named tensor's shape and elements, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Extent of each dimension, outermost first.
    pub shape: Vec<usize>,
    /// The elements; as many as the product of the shape.
    pub data: Vec<f32>,
}

/// Tensors by name.
pub type Tensors = BTreeMap<String, Tensor>;

/// Reads every tensor of a safetensors file; all must be f32.
///
/// ```
/// use nn_ops::io::{Tensor, Tensors, read_safetensors, write_safetensors};
///
/// let bias = Tensor { shape: vec![2], data: vec![0.5, -1.0] };
/// let tensors = Tensors::from([("bias".to_owned(), bias)]);
/// assert_eq!(read_safetensors(&write_safetensors(&tensors)?)?, tensors);
/// # Ok::<(), nn_ops::io::WeightsError>(())
/// ```
///
/// # Errors
/// [`WeightsError`] if the container is malformed or holds another type.
pub fn read_safetensors(bytes: &[u8]) -> Result<Tensors, WeightsError> {
    let file = SafeTensors::deserialize(bytes).map_err(container)?;
    let read = |(name, view): (String, TensorView<'_>)| {
        if view.dtype() != Dtype::F32 {
            return Err(WeightsError::DType { name, got: format!("{:?}", view.dtype()) });
        }
        let word = |chunk: &[u8]| f32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        let data = view.data().chunks_exact(4).map(word).collect();
        Ok((name, Tensor { shape: view.shape().to_vec(), data }))
    };
    file.tensors().into_iter().map(read).collect()
}

/// Writes tensors as a safetensors file.
///
/// # Errors
/// [`WeightsError::Length`] if a tensor does not have as many elements as its shape says.
pub fn write_safetensors(tensors: &Tensors) -> Result<Vec<u8>, WeightsError> {
    let mut encoded = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let expected = tensor.shape.iter().fold(1usize, |product, &dim| product.saturating_mul(dim));
        if expected != tensor.data.len() {
            return Err(WeightsError::Length { name: name.clone(), expected, got: tensor.data.len() });
        }
        encoded.push(tensor.data.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    }
    let mut views = Vec::with_capacity(tensors.len());
    for ((name, tensor), bytes) in tensors.iter().zip(&encoded) {
        views.push((name, TensorView::new(Dtype::F32, tensor.shape.clone(), bytes).map_err(container)?));
    }
    safetensors::serialize(views, None).map_err(container)
}

fn container(error: safetensors::SafeTensorError) -> WeightsError {
    WeightsError::Container { reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tensors {
        let matrix = Tensor { shape: vec![2, 3], data: vec![1.0, 2.0, 3.0, -4.0, 5.5, f32::MIN_POSITIVE] };
        Tensors::from([("w".to_owned(), matrix), ("b".to_owned(), Tensor { shape: vec![1], data: vec![0.25] })])
    }

    #[test]
    fn tensors_round_trip() {
        let bytes = write_safetensors(&sample()).unwrap();
        assert_eq!(read_safetensors(&bytes).unwrap(), sample());
    }

    #[test]
    fn every_truncation_and_every_flipped_header_bit_is_refused_or_read_whole() {
        let bytes = write_safetensors(&sample()).unwrap();
        for len in 0..bytes.len() {
            assert!(matches!(read_safetensors(&bytes[..len]), Err(WeightsError::Container { .. })), "{len}");
        }
        for bit in 0..8 * (bytes.len() - 28) {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            if let Ok(tensors) = read_safetensors(&changed) {
                assert!(tensors.values().all(|t| t.shape.iter().product::<usize>() == t.data.len()));
            }
        }
    }

    #[test]
    fn hostile_lengths_are_refused() {
        for len in [u64::MAX, 1 << 62, 100_000_001, 4096] {
            let bytes = [&len.to_le_bytes()[..], b"{}"].concat();
            assert!(matches!(read_safetensors(&bytes), Err(WeightsError::Container { .. })));
        }
        let header = br#"{"w":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,0]}}"#;
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header].concat();
        assert!(matches!(read_safetensors(&bytes), Err(WeightsError::Container { .. })));
    }

    #[test]
    fn another_type_and_a_wrong_length_are_named() {
        let view = TensorView::new(Dtype::I32, vec![1], &[0; 4]).unwrap();
        let bytes = safetensors::serialize([("n", view)], None).unwrap();
        assert_eq!(read_safetensors(&bytes), Err(WeightsError::DType { name: "n".into(), got: "I32".into() }));
        let short = Tensors::from([("w".to_owned(), Tensor { shape: vec![2], data: vec![1.0] })]);
        assert_eq!(write_safetensors(&short), Err(WeightsError::Length { name: "w".into(), expected: 2, got: 1 }));
    }
}
