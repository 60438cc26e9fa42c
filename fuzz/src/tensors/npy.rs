//! `.npy` files: an accepted array is written and read again unchanged, and all types agree.

use nn_ops::io::{FromNpy, NpyElement, read_npy, write_npy};

/// Checks one input.
pub fn check_input(bytes: &[u8]) {
    check::<u8>(bytes);
    check::<i32>(bytes);
    check::<i64>(bytes);
    check::<u64>(bytes);
    check::<f32>(bytes);
    check::<f64>(bytes);
    // Every integer of a file fits 128 bits, and a float takes any of them.
    let Ok(exact) = read_npy::<i128>(bytes) else { return };
    let floats = read_npy::<f64>(bytes).expect("floats take integers");
    assert_eq!(floats.shape, exact.shape);
    assert_eq!(floats.data, exact.data.iter().map(|&x| x as f64).collect::<Vec<_>>());
    let narrow: Result<Vec<i32>, _> = exact.data.iter().map(|&x| i32::try_from(x)).collect();
    assert_eq!(read_npy::<i32>(bytes).ok().map(|array| array.data), narrow.ok());
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
