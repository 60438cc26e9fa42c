//! Safetensors files: accepted tensors are written and read again unchanged.
//!
//! Each element is the stored one in f32, rounded to nearest, even, by a second decoder.

use nn_ops::io::{SavedTensors, Tensors, WeightsError, read_safetensors, write_safetensors};
use serde::Deserialize;
use serde_json::Value;

/// Checks one input.
pub fn check_input(bytes: &[u8]) {
    let Ok(file) = SavedTensors::read(bytes) else { return };
    for name in file.names() {
        let Some((entry, stored)) = entry(bytes, name) else { continue };
        match file.tensor(name) {
            Ok(tensor) => {
                assert_eq!(tensor.shape, entry.shape);
                check_elements(&entry.dtype, stored, &tensor.data);
            }
            Err(WeightsError::Range { count, .. }) => {
                assert_eq!((entry.dtype.as_str(), count), ("F64", beyond(stored)));
            }
            Err(_) => (),
        }
    }
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

/// A tensor in the header of a file.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    /// In the bytes after the header.
    data_offsets: (usize, usize),
}

/// The entry and the elements of a tensor of an accepted file.
///
/// `None` for an entry in a form of JSON that no writer makes, such as a type that is a map.
fn entry<'a>(bytes: &'a [u8], name: &str) -> Option<(Entry, &'a [u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (header, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    let header: Value = serde_json::from_slice(header).ok()?;
    let entry: Entry = serde_json::from_value(header.get(name)?.clone()).ok()?;
    let (start, end) = entry.data_offsets;
    let stored = data.get(start..end).expect("an accepted tensor is in its file");
    Some((entry, stored))
}

fn check_elements(dtype: &str, stored: &[u8], read: &[f32]) {
    match dtype {
        "F64" => each(stored, read, |word, got| check_rounded(f64::from_le_bytes(word), got)),
        "F32" => each(stored, read, |word, got| assert_eq!(got.to_bits(), u32::from_le_bytes(word))),
        "F16" => each(stored, read, |word, got| check_exact(half(u16::from_le_bytes(word)), got)),
        "BF16" => each(stored, read, |word, got| {
            let bits = u32::from(u16::from_le_bytes(word)) << 16;
            check_exact(f32::from_bits(bits).into(), got);
        }),
        "I64" => each(stored, read, |word, got| check_integer(i64::from_le_bytes(word).into(), got)),
        "I32" => each(stored, read, |word, got| check_integer(i32::from_le_bytes(word).into(), got)),
        "I16" => each(stored, read, |word, got| check_integer(i16::from_le_bytes(word).into(), got)),
        "I8" => each(stored, read, |word, got| check_integer(i8::from_le_bytes(word).into(), got)),
        "U64" => each(stored, read, |word, got| check_integer(u64::from_le_bytes(word).into(), got)),
        "U32" => each(stored, read, |word, got| check_integer(u32::from_le_bytes(word).into(), got)),
        "U16" => each(stored, read, |word, got| check_integer(u16::from_le_bytes(word).into(), got)),
        "U8" => each(stored, read, |[byte], got| check_integer(byte.into(), got)),
        "BOOL" => each(stored, read, |[byte], got| check_integer(i128::from(byte != 0), got)),
        _ => panic!("a tensor of {dtype} was read"),
    }
}

fn each<const N: usize>(stored: &[u8], read: &[f32], check: impl Fn([u8; N], f32)) {
    assert_eq!(stored.len(), N * read.len());
    stored.as_chunks().0.iter().zip(read).for_each(|(&word, &got)| check(word, got));
}

/// The value of f16 bits, which f64 has exactly.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// Checks a value that f32 has.
fn check_exact(expected: f64, got: f32) {
    if expected.is_nan() {
        assert!(got.is_nan());
    } else {
        assert_eq!(f64::from(got).to_bits(), expected.to_bits());
    }
}

/// Checks the nearest f32 of `x`; of two, the one whose last bit is 0.
fn check_rounded(x: f64, got: f32) {
    if !x.is_finite() {
        return check_exact(x, got);
    }
    assert!(got.is_finite() && got.is_sign_negative() == x.is_sign_negative(), "{x}: {got}");
    // Exact: the distances have few more bits than f64 has beyond f32.
    let distance = |value: f32| (x - f64::from(value)).abs();
    for other in [got.next_down(), got.next_up()] {
        let is_nearest = distance(got) < distance(other) || distance(got) == distance(other) && got.to_bits() & 1 == 0;
        assert!(is_nearest, "{x}: {got}, not {other}");
    }
}

/// Checks the nearest f32 of an integer of at most 64 bits.
fn check_integer(x: i128, got: f32) {
    if x.unsigned_abs() <= 1 << 24 {
        return check_exact(x as f64, got);
    }
    // From here on values of f32 are integers.
    let distance = |value: f32| (value as i128 - x).abs();
    for other in [got.next_down(), got.next_up()] {
        let is_nearest = distance(got) < distance(other) || distance(got) == distance(other) && got.to_bits() & 1 == 0;
        assert!(is_nearest, "{x}: {got}, not {other}");
    }
}

/// Finite numbers of 64 bits whose nearest f32 is infinite.
fn beyond(stored: &[u8]) -> usize {
    let least = f64::from(f32::MAX) + 2f64.powi(103);
    let values = stored.as_chunks().0.iter().map(|&word| f64::from_le_bytes(word));
    values.filter(|x| x.is_finite() && x.abs() >= least).count()
}
