//! NumPy arrays from and to the bytes of `.npy` files.

use super::{
    npy_error::NpyError,
    npy_header::Header,
    npy_number::{FromNpy, Number},
};

/// An element type that `.npy` files are written with, little-endian.
pub trait NpyElement: Copy {
    /// NumPy's description of the type.
    const DESCR: &'static str;

    /// Appends the element's bytes.
    fn encode(self, out: &mut Vec<u8>);
}

macro_rules! element {
    ($($type:ty: $descr:literal;)*) => {$(
        impl NpyElement for $type {
            const DESCR: &'static str = $descr;

            fn encode(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

element! {
    u8: "|u1";
    i32: "<i4";
    i64: "<i8";
    u64: "<u8";
    f32: "<f4";
    f64: "<f8";
}

/// A dense array in C (row-major) order.
#[derive(Clone, Debug, PartialEq)]
pub struct NpyArray<T> {
    /// Extent of each dimension, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    /// The elements; their number is the product of the shape.
    pub data: Vec<T>,
}

/// Reads an `.npy` file (format versions 1 to 3) as row-major elements of `T`.
///
/// The file has floats of 16 to 64 bits, integers of 8 to 64 bits or booleans, in either byte order
/// and in C or Fortran order. Conversions to floats round to nearest, even. Conversions to integers
/// are exact.
///
/// ```
/// use nn_ops::io::{NpyArray, read_npy, write_npy};
///
/// let bytes = write_npy(&NpyArray { shape: vec![2, 3], data: vec![0i64, 1, 2, 3, 4, 5] })?;
/// assert_eq!(read_npy(&bytes)?, NpyArray { shape: vec![2, 3], data: vec![0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0] });
///
/// let negative = write_npy(&NpyArray { shape: vec![1], data: vec![-1i64] })?;
/// assert!(read_npy::<u8>(&negative).is_err());
/// # Ok::<(), nn_ops::io::NpyError>(())
/// ```
///
/// # Errors
/// [`NpyError`] for anything but a complete file, for floats where `T` is an integer type, and for
/// a value that `T` does not have: an integer beyond its range, or a finite float that would become
/// infinite.
pub fn read_npy<T: FromNpy>(bytes: &[u8]) -> Result<NpyArray<T>, NpyError> {
    let Header { descr, fortran_order, shape, data_start } = Header::parse(bytes)?;
    let number = Number::parse(&descr);
    let Some(number) = number.filter(|number| T::TAKES_FLOATS || !number.is_float()) else {
        let expected = if T::TAKES_FLOATS { "floats, integers or booleans" } else { "integers or booleans" };
        return Err(NpyError::DType { expected, got: descr });
    };
    let bytes_of = |shape: &[usize]| shape.iter().try_fold(number.bytes(), |product, &dim| product.checked_mul(dim));
    let Some(expected) = bytes_of(&shape) else { return Err(NpyError::ShapeOverflow { shape }) };
    let data = &bytes[data_start..];
    if data.len() < expected {
        return Err(NpyError::Truncated { expected: data_start.saturating_add(expected), got: bytes.len() });
    }
    if data.len() > expected {
        return Err(NpyError::TrailingBytes { expected, got: data.len() });
    }
    let data = number.read(data)?;
    let data = if fortran_order { row_major(&shape, &data) } else { data };
    Ok(NpyArray { shape, data })
}

/// The elements of a column-major array in row-major order.
fn row_major<T: Copy>(shape: &[usize], data: &[T]) -> Vec<T> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for &dim in shape {
        strides.push(stride);
        stride *= dim;
    }
    let (mut place, mut from) = (vec![0; shape.len()], 0);
    let mut next = || {
        let element = data[from];
        for axis in (0..shape.len()).rev() {
            place[axis] += 1;
            from += strides[axis];
            if place[axis] < shape[axis] {
                break;
            }
            from -= strides[axis] * shape[axis];
            place[axis] = 0;
        }
        element
    };
    (0..data.len()).map(|_| next()).collect()
}

/// Writes an array as an `.npy` file, version 1.0.
///
/// # Errors
/// [`NpyError::Length`] if the number of elements differs from the shape,
/// [`NpyError::ShapeOverflow`] if the product of the shape cannot be counted.
pub fn write_npy<T: NpyElement>(array: &NpyArray<T>) -> Result<Vec<u8>, NpyError> {
    let count = array.shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
    let overflow = || NpyError::ShapeOverflow { shape: array.shape.clone() };
    let expected = count.ok_or_else(overflow)?;
    if expected != array.data.len() {
        return Err(NpyError::Length { expected, got: array.data.len() });
    }
    let dims: String = array.shape.iter().map(|dim| format!("{dim}, ")).collect();
    let mut text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({dims}), }}", T::DESCR);
    // The data start on a multiple of 64 bytes; the header ends in a line feed.
    let padded = (10 + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', padded - 11 - text.len()));
    text.push('\n');
    let text_len = u16::try_from(text.len()).map_err(|_| overflow())?;
    let mut bytes = Vec::with_capacity(padded + size_of_val(&array.data[..]));
    bytes.extend_from_slice(b"\x93NUMPY\x01\x00");
    bytes.extend_from_slice(&text_len.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    array.data.iter().for_each(|&element| element.encode(&mut bytes));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    fn sample() -> NpyArray<f32> {
        NpyArray { shape: vec![3, 2], data: vec![1.0, -2.5, 3.25, f32::INFINITY, 0.0, -0.0] }
    }

    fn with_header(text: &str) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&u16::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    #[test]
    fn files_agree_with_an_independent_implementation() {
        let ours = write_npy(&sample()).unwrap();
        let theirs = npyz::NpyFile::new(&ours[..]).unwrap();
        assert_eq!(theirs.shape(), [3, 2]);
        assert_eq!(theirs.into_vec::<f32>().unwrap(), sample().data);
        let mut file = Vec::new();
        {
            use npyz::WriterBuilder as _;
            let options = npyz::WriteOptions::new().default_dtype().shape(&[2, 1, 2]).writer(&mut file);
            let mut writer = options.begin_nd().unwrap();
            writer.extend([1i64, -2, 3, 4]).unwrap();
            writer.finish().unwrap();
        }
        assert_eq!(read_npy::<i64>(&file).unwrap(), NpyArray { shape: vec![2, 1, 2], data: vec![1, -2, 3, 4] });
    }

    #[test]
    fn scalars_and_empty_arrays_round_trip() {
        for array in [NpyArray { shape: vec![], data: vec![7u8] }, NpyArray { shape: vec![0, 5], data: vec![] }] {
            assert_eq!(read_npy(&write_npy(&array).unwrap()).unwrap(), array);
        }
    }

    #[test]
    fn every_truncation_and_every_trailing_byte_is_refused() {
        let bytes = write_npy(&sample()).unwrap();
        for len in 0..bytes.len() {
            assert!(matches!(read_npy::<f32>(&bytes[..len]), Err(NpyError::Truncated { got, .. }) if got == len));
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(read_npy::<f32>(&longer), Err(NpyError::TrailingBytes { expected: 24, got: 25 }));
    }

    #[test]
    fn every_header_byte_at_every_value_is_refused_or_read_whole() {
        let bytes = write_npy(&sample()).unwrap();
        for at in 0..128 {
            for value in 0..=255 {
                let mut changed = bytes.clone();
                changed[at] = value;
                if let Ok(array) = read_npy::<f32>(&changed) {
                    assert_eq!(array.shape.iter().product::<usize>(), array.data.len());
                }
            }
        }
    }

    #[test]
    fn hostile_headers_are_refused_with_the_reason() {
        let shape = |dims: &str| with_header(&format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({dims})}}"));
        let huge = shape("18446744073709551615, 2");
        assert_eq!(read_npy::<f32>(&huge), Err(NpyError::ShapeOverflow { shape: vec![usize::MAX, 2] }));
        assert!(matches!(read_npy::<f32>(&shape("99999999999999999999")), Err(NpyError::Header { .. })));
        assert!(matches!(read_npy::<f32>(&shape(&"1,".repeat(33))), Err(NpyError::Header { .. })));
        assert!(matches!(read_npy::<f32>(&shape("1000000000000")), Err(NpyError::Truncated { .. })));
        let twice = with_header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}");
        assert!(matches!(read_npy::<f32>(&twice), Err(NpyError::Header { .. })));
        let mut long = b"\x93NUMPY\x02\x00".to_vec();
        long.extend_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(read_npy::<f32>(&long), Err(NpyError::Truncated { .. })));
    }

    /// A file with a header and data as they are given.
    fn file(descr: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
        let fortran = if fortran { "True" } else { "False" };
        let dims: String = shape.iter().map(|dim| format!("{dim},")).collect();
        let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({dims})}}");
        [with_header(&text), data.to_vec()].concat()
    }

    #[test]
    fn every_type_in_both_byte_orders_becomes_any_other_that_has_its_values() {
        let little: [(&str, Vec<u8>); 11] = [
            ("f2", f16::from_f32(3.0).to_bits().to_le_bytes().to_vec()),
            ("f4", 3f32.to_le_bytes().to_vec()),
            ("f8", 3f64.to_le_bytes().to_vec()),
            ("i1", 3i8.to_le_bytes().to_vec()),
            ("i2", 3i16.to_le_bytes().to_vec()),
            ("i4", 3i32.to_le_bytes().to_vec()),
            ("i8", 3i64.to_le_bytes().to_vec()),
            ("u1", 3u8.to_le_bytes().to_vec()),
            ("u2", 3u16.to_le_bytes().to_vec()),
            ("u4", 3u32.to_le_bytes().to_vec()),
            ("u8", 3u64.to_le_bytes().to_vec()),
        ];
        for (kind, bytes) in little {
            let turned: Vec<u8> = bytes.iter().rev().copied().collect();
            for (order, bytes) in [("<", &bytes), ("=", &bytes), (">", &turned)] {
                let file = file(&format!("{order}{kind}"), false, &[1], bytes);
                assert_eq!(read_npy::<f32>(&file).unwrap().data, [3.0], "{order}{kind}");
                assert_eq!(read_npy::<f64>(&file).unwrap().data, [3.0], "{order}{kind}");
                let [whole, byte] =
                    [read_npy::<i128>(&file).map(|a| a.data[0]), read_npy::<u8>(&file).map(|a| a.data[0].into())];
                if kind.starts_with('f') {
                    let got = format!("{order}{kind}");
                    let refused = NpyError::DType { expected: "integers or booleans", got };
                    assert_eq!([whole, byte], [Err(refused.clone()), Err(refused)]);
                } else {
                    assert_eq!([whole, byte], [Ok(3), Ok(3)], "{order}{kind}");
                }
            }
        }
        assert_eq!(read_npy::<f32>(&file("|b1", false, &[2], &[0, 1])).unwrap().data, [0.0, 1.0]);
    }

    #[test]
    fn values_that_a_type_does_not_have_are_named() {
        let value = |index, value: &str, expected| NpyError::Value { index, value: value.to_owned(), expected };
        let integers = write_npy(&NpyArray { shape: vec![2], data: vec![7i64, -1] }).unwrap();
        assert_eq!(read_npy::<u32>(&integers), Err(value(1, "-1", "u32")));
        let great = write_npy(&NpyArray { shape: vec![2], data: vec![1e39f64, f64::INFINITY] }).unwrap();
        assert_eq!(read_npy::<f32>(&great), Err(value(0, "1e39", "f32")));
        let infinite = write_npy(&NpyArray { shape: vec![1], data: vec![f64::INFINITY] }).unwrap();
        assert_eq!(read_npy::<f32>(&infinite).unwrap().data, [f32::INFINITY]);
        // NumPy writes booleans as 0 and 1 alone.
        assert_eq!(read_npy::<u8>(&file("|b1", false, &[1], &[2])), Err(value(0, "2", "bool")));
        // The exact bits of a NaN survive in a file of the same type.
        let nan = f32::from_bits(0x7fa0_0001);
        let written = write_npy(&NpyArray { shape: vec![], data: vec![nan] }).unwrap();
        assert_eq!(read_npy::<f32>(&written).unwrap().data[0].to_bits(), nan.to_bits());
    }

    #[test]
    fn fortran_order_is_turned() {
        let data: Vec<u8> = (0..24).collect();
        let array = read_npy::<u8>(&file("|u1", true, &[2, 3, 4], &data)).unwrap();
        // Element [i][j][k] of a column-major array stands at i + 2 j + 6 k.
        let expected: Vec<u8> =
            (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..4).map(move |k| i + 2 * j + 6 * k))).collect();
        assert_eq!(array, NpyArray { shape: vec![2, 3, 4], data: expected });
        for shape in [&[0, 5][..], &[3, 0], &[1], &[]] {
            let data = vec![7; shape.iter().product()];
            assert_eq!(read_npy::<u8>(&file("|u1", true, shape, &data)).unwrap().data, data);
        }
    }

    #[test]
    fn data_start_at_the_first_multiple_of_64_bytes_behind_the_header() {
        for rank in 0..64 {
            let bytes = write_npy(&NpyArray { shape: vec![1; rank], data: vec![1.0f32] }).unwrap();
            let end = bytes.iter().rposition(|&byte| byte == b'}').unwrap() + 1;
            assert_eq!(bytes.len() - 4, (end + 1).next_multiple_of(64), "rank {rank}");
        }
    }

    #[test]
    fn headers_of_version_2_have_lengths_of_four_bytes() {
        let mut text = "{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }".to_owned();
        text.extend(std::iter::repeat_n(' ', 0x1_0304 - text.len()));
        let length = 0x1_0304u32.to_le_bytes();
        let bytes = [b"\x93NUMPY\x02\x00", &length[..], text.as_bytes(), &[7, 0]].concat();
        assert_eq!(read_npy::<u32>(&bytes).unwrap(), NpyArray { shape: vec![1], data: vec![7] });
    }

    #[test]
    fn lengths_of_python_2_are_read() {
        let bytes =
            [with_header("{'descr': '<u2', 'fortran_order': False, 'shape': (1L, 2L)}"), vec![1, 0, 2, 0]].concat();
        assert_eq!(read_npy::<u32>(&bytes).unwrap(), NpyArray { shape: vec![1, 2], data: vec![1, 2] });
    }

    #[test]
    fn other_element_types_are_named() {
        for descr in ["<c8", "<U3", "|S1", "<M8", "|O", "<f16", "<i3", "", "f", "f4", "<", "|f4", "|u2"] {
            let refused = NpyError::DType { expected: "floats, integers or booleans", got: descr.to_owned() };
            assert_eq!(read_npy::<f32>(&file(descr, false, &[], &[0; 16])), Err(refused));
        }
    }
}
