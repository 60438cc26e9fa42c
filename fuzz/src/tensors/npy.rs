//! `.npy` files: an accepted array is written and read again unchanged.

use nn_ops::io::{FromNpy, NpyElement, read_npy, write_npy};

/// Checks one input.
pub fn check_input(bytes: &[u8]) {
    check::<u8>(bytes);
    check::<i64>(bytes);
    check::<f32>(bytes);
}

fn check<T: NpyElement + FromNpy>(bytes: &[u8]) {
    let Ok(array) = read_npy::<T>(bytes) else { return };
    assert_eq!(array.shape.iter().product::<usize>(), array.data.len());
    // A shape with very many dimensions may be too long for the header that the writer makes.
    let Ok(written) = write_npy(&array) else { return };
    let again = read_npy::<T>(&written).expect("the writer's output is readable");
    assert_eq!(again.shape, array.shape);
    // Encodings are compared, since a NaN differs from itself.
    assert_eq!(encoded(&again.data), encoded(&array.data));
}

fn encoded<T: NpyElement>(data: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(data));
    data.iter().for_each(|element| element.encode(&mut bytes));
    bytes
}
