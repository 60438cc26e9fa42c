//! NumPy arrays from and to the bytes of `.npy` files.

use super::{npy_error::NpyError, npy_header::Header};

/// An element type of `.npy` files, stored little-endian.
pub trait NpyElement: Copy {
    /// NumPy's description of the type.
    const DESCR: &'static str;
    /// Bytes of one element.
    const BYTES: usize;

    /// Decodes one element from exactly [`BYTES`](Self::BYTES) bytes.
    fn decode(bytes: &[u8]) -> Self;

    /// Appends the element's bytes.
    fn encode(self, out: &mut Vec<u8>);
}

macro_rules! element {
    ($type:ty, $descr:literal) => {
        impl NpyElement for $type {
            const DESCR: &'static str = $descr;
            const BYTES: usize = size_of::<$type>();

            fn decode(bytes: &[u8]) -> Self {
                let mut word = [0; size_of::<$type>()];
                word.copy_from_slice(bytes);
                Self::from_le_bytes(word)
            }

            fn encode(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}

element!(u8, "|u1");
element!(i32, "<i4");
element!(i64, "<i8");
element!(u64, "<u8");
element!(f32, "<f4");
element!(f64, "<f8");

/// A dense array in C (row-major) order.
#[derive(Clone, Debug, PartialEq)]
pub struct NpyArray<T> {
    /// Extent of each dimension, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    /// The elements; as many as the product of the shape.
    pub data: Vec<T>,
}

/// Reads an `.npy` file (format versions 1 to 3, C order, little-endian) whose elements are of type `T`.
///
/// ```
/// use nn_ops::io::{NpyArray, read_npy, write_npy};
///
/// let array = NpyArray { shape: vec![2, 3], data: vec![0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0] };
/// let bytes = write_npy(&array)?;
/// assert_eq!(read_npy::<f32>(&bytes)?, array);
/// assert!(read_npy::<u8>(&bytes).is_err());
/// # Ok::<(), nn_ops::io::NpyError>(())
/// ```
///
/// # Errors
/// [`NpyError`] for anything but a complete, exact file of `T`.
pub fn read_npy<T: NpyElement>(bytes: &[u8]) -> Result<NpyArray<T>, NpyError> {
    let header = Header::parse(bytes)?;
    if header.descr != T::DESCR {
        return Err(NpyError::DType { expected: T::DESCR, got: header.descr });
    }
    if header.fortran_order {
        return Err(NpyError::FortranOrder);
    }
    let bytes_of = |shape: &[usize]| shape.iter().try_fold(T::BYTES, |product, &dim| product.checked_mul(dim));
    let Some(expected) = bytes_of(&header.shape) else {
        return Err(NpyError::ShapeOverflow { shape: header.shape });
    };
    let data = &bytes[header.data_start..];
    if data.len() < expected {
        let expected = header.data_start.saturating_add(expected);
        return Err(NpyError::Truncated { expected, got: bytes.len() });
    }
    if data.len() > expected {
        return Err(NpyError::TrailingBytes { expected, got: data.len() });
    }
    Ok(NpyArray { shape: header.shape, data: data.chunks_exact(T::BYTES).map(T::decode).collect() })
}

/// Writes an array as an `.npy` file, version 1.0.
///
/// # Errors
/// [`NpyError::Length`] if there are not as many elements as the shape says, [`NpyError::ShapeOverflow`] if that cannot
/// be counted.
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
    let mut bytes = Vec::with_capacity(padded + array.data.len() * T::BYTES);
    bytes.extend_from_slice(b"\x93NUMPY\x01\x00");
    bytes.extend_from_slice(&text_len.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    array.data.iter().for_each(|&element| element.encode(&mut bytes));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
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
        let fortran = with_header("{'descr': '<f4', 'fortran_order': True, 'shape': ()}");
        assert_eq!(read_npy::<f32>(&fortran), Err(NpyError::FortranOrder));
        let twice = with_header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}");
        assert!(matches!(read_npy::<f32>(&twice), Err(NpyError::Header { .. })));
        let mut long = b"\x93NUMPY\x02\x00".to_vec();
        long.extend_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(read_npy::<f32>(&long), Err(NpyError::Truncated { .. })));
    }

    #[test]
    fn another_element_type_is_named() {
        let bytes = write_npy(&sample()).unwrap();
        assert_eq!(read_npy::<u8>(&bytes), Err(NpyError::DType { expected: "|u1", got: "<f4".into() }));
    }
}
