//! Safetensors files: accepted tensors are written and read again unchanged.

use nn_ops::io::{Tensors, read_safetensors, write_safetensors};

/// Checks one input.
pub fn check_input(bytes: &[u8]) {
    let Ok(tensors) = read_safetensors(bytes) else { return };
    let written = write_safetensors(&tensors).expect("what was read has the lengths of its shapes");
    let again = read_safetensors(&written).expect("the writer's output is readable");
    assert_eq!(bits(&again), bits(&tensors));
}

/// Names, shapes and bit patterns, since a NaN differs from itself.
fn bits(tensors: &Tensors) -> Vec<(&str, &[usize], Vec<u32>)> {
    let words = |data: &[f32]| data.iter().map(|value| value.to_bits()).collect();
    tensors.iter().map(|(name, tensor)| (name.as_str(), tensor.shape.as_slice(), words(&tensor.data))).collect()
}
