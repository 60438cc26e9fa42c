//! Named tensors of floats from and to the bytes of safetensors files.

use std::collections::BTreeMap;

use backend_api::{DType, Real};
use core::fmt::Write as _;

use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// The key of the digest that every written file has in its text.
const DIGEST: &str = "trefoil.sha256";

/// Why bytes are not a safetensors file of floats, or not of the requested tensors.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// The container is malformed.
    #[error("safetensors: {reason}")]
    Container {
        /// The error of the format's own checks.
        reason: String,
    },
    /// The file is damaged: its content does not have the digest in its text.
    #[error("damaged: expected SHA-256 {expected}, got {got}")]
    Digest {
        /// The digest in the file, escaped and truncated.
        expected: String,
        /// The digest of its content.
        got: String,
    },
    /// The file of a checkpoint has no digest.
    #[error("expected a digest under `{DIGEST}`, got none: this program did not write the file")]
    NoDigest,
    /// A tensor is of another type.
    #[error("tensor `{name}`: expected {expected}, got {got}")]
    DType {
        /// The tensor.
        name: String,
        /// The accepted types.
        expected: &'static str,
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
    /// A tensor is not in the file.
    #[error("there is no tensor `{name}`")]
    Missing {
        /// The requested name.
        name: String,
    },
    /// Finite values to be written lie beyond the range of the type.
    #[error("tensor `{name}`: {count} values lie beyond the range of {dtype}")]
    Range {
        /// The tensor.
        name: String,
        /// How many there are.
        count: usize,
        /// The type.
        dtype: DType,
    },
}

/// A named tensor's shape and elements, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Extent of each dimension, outermost first.
    pub shape: Vec<usize>,
    /// The elements; their number is the product of the shape.
    pub data: Vec<f32>,
}

/// Tensors by name.
pub type Tensors = BTreeMap<String, Tensor>;

/// Text stored in a file alongside its tensors, by key.
pub type TextByKey = BTreeMap<String, String>;

/// A safetensors file in memory, read or mapped by the caller.
///
/// Tensors are decoded from its bytes one by one, on request.
///
/// ```
/// use backend_api::DType;
/// use nn_ops::io::{SavedTensors, Tensor, Tensors, TextByKey, write_safetensors_as};
///
/// let bias = Tensor { shape: vec![2], data: vec![0.5, -1.0] };
/// let tensors = Tensors::from([("bias".to_owned(), bias.clone())]);
/// let text = TextByKey::from([("step".to_owned(), "7".to_owned())]);
/// let bytes = write_safetensors_as(&tensors, DType::Bf16, &text)?;
/// let file = SavedTensors::read(&bytes)?;
/// assert_eq!(file.tensor("bias")?, bias);
/// assert_eq!((file.dtype("bias")?, file.text()["step"].as_str()), (DType::Bf16, "7"));
/// # Ok::<(), nn_ops::io::WeightsError>(())
/// ```
#[derive(Debug)]
pub struct SavedTensors<'a> {
    file: SafeTensors<'a>,
    text: TextByKey,
    has_digest: bool,
}

impl<'a> SavedTensors<'a> {
    /// Reads the header and checks it against the length.
    ///
    /// In files written by [`write_safetensors_as`], it also checks the content against its digest.
    ///
    /// # Errors
    /// [`WeightsError::Container`] if the container is malformed, [`WeightsError::Digest`] if the
    /// content was changed.
    pub fn read(bytes: &'a [u8]) -> Result<Self, WeightsError> {
        let file = SafeTensors::deserialize(bytes).map_err(container)?;
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(container)?;
        let mut text: TextByKey =
            header.metadata().iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
        let expected = text.remove(DIGEST);
        let saved = Self { file, text, has_digest: expected.is_some() };
        let Some(expected) = expected else { return Ok(saved) };
        let views = saved.names().into_iter().map(|name| Ok((name, saved.view(name)?)));
        let got = digest(&views.collect::<Result<Vec<_>, WeightsError>>()?, &saved.text);
        if expected == got {
            return Ok(saved);
        }
        let shown = expected.chars().take(64).flat_map(char::escape_default).collect();
        Err(WeightsError::Digest { expected: shown, got })
    }

    /// Whether the content was checked against a digest.
    ///
    /// If so, the file was written by [`write_safetensors_as`], or by a program that writes the
    /// same digest.
    #[must_use]
    pub const fn has_digest(&self) -> bool {
        self.has_digest
    }

    /// The names of the tensors, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names = self.file.names();
        names.sort_unstable();
        names
    }

    /// The text that the file keeps.
    #[must_use]
    pub fn text(&self) -> &TextByKey {
        &self.text
    }

    /// The element type of a tensor.
    ///
    /// # Errors
    /// [`WeightsError::Missing`] if there is no such tensor, [`WeightsError::DType`] if it is of
    /// another type than f32, f16 and bf16.
    pub fn dtype(&self, name: &str) -> Result<DType, WeightsError> {
        let view = self.view(name)?;
        floats(view.dtype()).ok_or_else(|| WeightsError::DType {
            name: name.to_owned(),
            expected: "F32, F16 or BF16",
            got: format!("{:?}", view.dtype()),
        })
    }

    /// The shape of a tensor.
    ///
    /// # Errors
    /// [`WeightsError::Missing`] if there is no such tensor.
    pub fn shape(&self, name: &str) -> Result<Vec<usize>, WeightsError> {
        Ok(self.view(name)?.shape().to_vec())
    }

    /// A tensor in f32.
    ///
    /// f16 and bf16 convert exactly. f64, integers and booleans are rounded to nearest, even.
    ///
    /// # Errors
    /// [`WeightsError::Missing`] if there is no such tensor, [`WeightsError::DType`] if it is of
    /// 8-bit floats or complex numbers, [`WeightsError::Range`] if finite elements lie beyond the
    /// range of f32.
    pub fn tensor(&self, name: &str) -> Result<Tensor, WeightsError> {
        let view = self.view(name)?;
        let data = in_f32(view.dtype(), view.data()).ok_or_else(|| WeightsError::DType {
            name: name.to_owned(),
            expected: "floats of 16 bits or more, integers or booleans",
            got: format!("{:?}", view.dtype()),
        })?;
        let data = data.map_err(|count| WeightsError::Range { name: name.to_owned(), count, dtype: DType::F32 })?;
        Ok(Tensor { shape: view.shape().to_vec(), data })
    }

    /// Every tensor in f32, as by [`tensor`](Self::tensor).
    ///
    /// # Errors
    /// As [`tensor`](Self::tensor).
    pub fn tensors(&self) -> Result<Tensors, WeightsError> {
        self.names().into_iter().map(|name| Ok((name.to_owned(), self.tensor(name)?))).collect()
    }

    fn view(&self, name: &str) -> Result<TensorView<'a>, WeightsError> {
        self.file.tensor(name).map_err(|_| WeightsError::Missing { name: name.to_owned() })
    }
}

/// The type by its name in files.
fn floats(dtype: Dtype) -> Option<DType> {
    match dtype {
        Dtype::F32 => Some(DType::F32),
        Dtype::F16 => Some(DType::F16),
        Dtype::BF16 => Some(DType::Bf16),
        _ => None,
    }
}

/// Converts little-endian elements of a type to f32.
///
/// The error is the number of finite elements beyond the range of f32. `None` for a type that is
/// not converted.
fn in_f32(dtype: Dtype, bytes: &[u8]) -> Option<Result<Vec<f32>, usize>> {
    Some(Ok(match dtype {
        Dtype::F64 => {
            let narrow = words(bytes, |word| f64::from_le_bytes(word) as f32);
            let became_infinite =
                |(&word, narrow): (&[u8; 8], &f32)| f64::from_le_bytes(word).is_finite() && narrow.is_infinite();
            let count = bytes.as_chunks().0.iter().zip(&narrow).filter(|&pair| became_infinite(pair)).count();
            return Some(if count == 0 { Ok(narrow) } else { Err(count) });
        }
        Dtype::F32 => words(bytes, f32::from_le_bytes),
        Dtype::F16 => words(bytes, |word| f16::from_le_bytes(word).to_f32()),
        Dtype::BF16 => words(bytes, |word| bf16::from_le_bytes(word).to_f32()),
        Dtype::I64 => words(bytes, |word| i64::from_le_bytes(word) as f32),
        Dtype::I32 => words(bytes, |word| i32::from_le_bytes(word) as f32),
        Dtype::I16 => words(bytes, |word| i16::from_le_bytes(word).into()),
        Dtype::I8 => words(bytes, |word| i8::from_le_bytes(word).into()),
        Dtype::U64 => words(bytes, |word| u64::from_le_bytes(word) as f32),
        Dtype::U32 => words(bytes, |word| u32::from_le_bytes(word) as f32),
        Dtype::U16 => words(bytes, |word| u16::from_le_bytes(word).into()),
        Dtype::U8 => words(bytes, |word| u8::from_le_bytes(word).into()),
        Dtype::BOOL => words(bytes, |[byte]| f32::from(u8::from(byte != 0))),
        _ => return None,
    }))
}

fn words<const N: usize>(bytes: &[u8], convert: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&word| convert(word)).collect()
}

/// Reads every tensor of a safetensors file in f32, each as [`SavedTensors::tensor`] does.
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
    SavedTensors::read(bytes)?.tensors()
}

/// Writes tensors as a safetensors file in f32.
///
/// # Errors
/// [`WeightsError::Length`] if a tensor's number of elements differs from its shape.
pub fn write_safetensors(tensors: &Tensors) -> Result<Vec<u8>, WeightsError> {
    write_safetensors_as(tensors, DType::F32, &TextByKey::new())
}

/// Writes tensors as a safetensors file whose elements are of type `dtype`.
///
/// Elements are rounded to nearest. The file also has `text` and a SHA-256 of all content, by which
/// [`SavedTensors::read`] detects damage. Nothing is signed: a digest does not show deliberate
/// changes.
///
/// # Errors
/// [`WeightsError::Length`] if a tensor's number of elements differs from its shape,
/// [`WeightsError::Range`] if finite elements would become infinite.
pub fn write_safetensors_as(tensors: &Tensors, dtype: DType, text: &TextByKey) -> Result<Vec<u8>, WeightsError> {
    let mut encoded = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let expected = tensor.shape.iter().fold(1usize, |product, &dim| product.saturating_mul(dim));
        if expected != tensor.data.len() {
            return Err(WeightsError::Length { name: name.clone(), expected, got: tensor.data.len() });
        }
        let (bytes, count) = match dtype {
            DType::F16 => narrowed::<f16, 2>(&tensor.data, |x| x.to_bits().to_le_bytes()),
            DType::Bf16 => narrowed::<bf16, 2>(&tensor.data, |x| x.to_bits().to_le_bytes()),
            _ => narrowed::<f32, 4>(&tensor.data, f32::to_le_bytes),
        };
        if count > 0 {
            return Err(WeightsError::Range { name: name.clone(), count, dtype });
        }
        encoded.push(bytes);
    }
    let dtype = match dtype {
        DType::F16 => Dtype::F16,
        DType::Bf16 => Dtype::BF16,
        _ => Dtype::F32,
    };
    let mut views = Vec::with_capacity(tensors.len());
    for ((name, tensor), bytes) in tensors.iter().zip(&encoded) {
        views.push((name.as_str(), TensorView::new(dtype, tensor.shape.clone(), bytes).map_err(container)?));
    }
    let digest = digest(&views, text);
    let text: TextByKey = text.clone().into_iter().chain([(DIGEST.to_owned(), digest)]).collect();
    let mut file = safetensors::serialize(views, Some(text.clone().into_iter().collect())).map_err(container)?;
    put_in_order(&mut file, &text);
    Ok(file)
}

/// Sorts the text of a file by its keys, so that equal content gives equal files.
///
/// `safetensors` writes it first, in an order that differs from run to run.
fn put_in_order(file: &mut [u8], text: &TextByKey) {
    const START: &[u8] = br#"{"__metadata__":"#;
    let Ok(ordered) = serde_json::to_vec(text) else { return };
    let begins = size_of::<u64>();
    let place = begins + START.len();
    if file.get(begins..place) == Some(START)
        && let Some(written) = file.get_mut(place..place + ordered.len())
    {
        written.copy_from_slice(&ordered);
    }
}

/// SHA-256 in hexadecimal over tensors and text.
///
/// Tensors are in the order of their names, and text in the order of its keys. Every part is
/// preceded by its length, so that no two files have the same input.
fn digest(views: &[(&str, TensorView<'_>)], text: &TextByKey) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(&(views.len() as u64).to_le_bytes());
    for (name, view) in views {
        let shape: Vec<u8> = view.shape().iter().flat_map(|&dim| (dim as u64).to_le_bytes()).collect();
        part(name.as_bytes());
        part(format!("{:?}", view.dtype()).as_bytes());
        part(&shape);
        part(view.data());
    }
    for (key, value) in text.iter().filter(|(key, _)| *key != DIGEST) {
        part(key.as_bytes());
        part(value.as_bytes());
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a string does not fail
        text
    })
}

/// The little-endian elements, and how many finite ones became infinite.
fn narrowed<T: Real, const N: usize>(data: &[f32], bytes: impl Fn(T) -> [u8; N]) -> (Vec<u8>, usize) {
    let (mut all, mut count) = (Vec::with_capacity(N * data.len()), 0);
    for &x in data {
        let narrow = T::from_f32(x);
        count += usize::from(x.is_finite() && narrow.to_f32().is_infinite());
        all.extend(bytes(narrow));
    }
    (all, count)
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
    fn every_flipped_bit_of_the_content_is_refused() {
        let bytes = write_safetensors(&sample()).unwrap();
        for bit in 8 * (bytes.len() - 28)..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(read_safetensors(&changed), Err(WeightsError::Digest { .. })), "{bit}");
        }
        // A file of another program has none.
        let view = TensorView::new(Dtype::F32, vec![1], &[0; 4]).unwrap();
        assert!(read_safetensors(&safetensors::serialize([("n", view)], None).unwrap()).is_ok());
    }

    #[test]
    fn equal_content_gives_equal_files() {
        let text: TextByKey = ["b", "a\n", "\"c", "d"].map(|key| (key.to_owned(), format!("of {key}"))).into();
        let files: Vec<_> = (0..8).map(|_| write_safetensors_as(&sample(), DType::F32, &text).unwrap()).collect();
        assert!(files.iter().all(|file| *file == files[0]));
        assert_eq!(SavedTensors::read(&files[0]).unwrap().text, text);
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
    fn tensors_of_every_plain_type_are_read() {
        let file = |dtype, bytes: &[u8]| {
            safetensors::serialize([("n", TensorView::new(dtype, vec![2], bytes).unwrap())], None).unwrap()
        };
        let three: [(Dtype, Vec<u8>); 12] = [
            (Dtype::F64, [3f64, -0.1].map(f64::to_le_bytes).concat()),
            (Dtype::F32, [3f32, -0.1].map(f32::to_le_bytes).concat()),
            (Dtype::F16, [3.0, -0.1].map(|x| f16::from_f32(x).to_le_bytes()).concat()),
            (Dtype::BF16, [3.0, -0.1].map(|x| bf16::from_f32(x).to_le_bytes()).concat()),
            (Dtype::I64, [3i64, i64::MIN].map(i64::to_le_bytes).concat()),
            (Dtype::I32, [3i32, i32::MIN].map(i32::to_le_bytes).concat()),
            (Dtype::I16, [3i16, i16::MIN].map(i16::to_le_bytes).concat()),
            (Dtype::I8, [3i8, i8::MIN].map(i8::to_le_bytes).concat()),
            (Dtype::U64, [3, u64::MAX].map(u64::to_le_bytes).concat()),
            (Dtype::U32, [3, u32::MAX].map(u32::to_le_bytes).concat()),
            (Dtype::U16, [3, u16::MAX].map(u16::to_le_bytes).concat()),
            (Dtype::U8, vec![3, u8::MAX]),
        ];
        let second = [
            -0.1,
            -0.1,
            f16::from_f32(-0.1).to_f32(),
            bf16::from_f32(-0.1).to_f32(),
            -(2f32.powi(63)),
            -(2f32.powi(31)),
            -32768.0,
            -128.0,
            2f32.powi(64),
            2f32.powi(32),
            65535.0,
            255.0,
        ];
        for ((dtype, bytes), second) in three.into_iter().zip(second) {
            assert_eq!(read_safetensors(&file(dtype, &bytes)).unwrap()["n"].data, [3.0, second], "{dtype:?}");
        }
        assert_eq!(read_safetensors(&file(Dtype::BOOL, &[0, 1])).unwrap()["n"].data, [0.0, 1.0]);
        let great = file(Dtype::F64, &[1e39f64, f64::INFINITY].map(f64::to_le_bytes).concat());
        let range = WeightsError::Range { name: "n".into(), count: 1, dtype: DType::F32 };
        assert_eq!(read_safetensors(&great), Err(range));
    }

    #[test]
    fn another_type_and_a_wrong_length_are_named() {
        let view = TensorView::new(Dtype::F8_E4M3, vec![1], &[0]).unwrap();
        let bytes = safetensors::serialize([("n", view)], None).unwrap();
        let expected = "floats of 16 bits or more, integers or booleans";
        let refused = WeightsError::DType { name: "n".into(), expected, got: "F8_E4M3".into() };
        assert_eq!(read_safetensors(&bytes), Err(refused));
        let whole = TensorView::new(Dtype::I64, vec![1], &[0; 8]).unwrap();
        let bytes = safetensors::serialize([("n", whole)], None).unwrap();
        let expected = "F32, F16 or BF16";
        let dtype = SavedTensors::read(&bytes).unwrap().dtype("n");
        assert_eq!(dtype, Err(WeightsError::DType { name: "n".into(), expected, got: "I64".into() }));
        let short = Tensors::from([("w".to_owned(), Tensor { shape: vec![2], data: vec![1.0] })]);
        assert_eq!(write_safetensors(&short), Err(WeightsError::Length { name: "w".into(), expected: 2, got: 1 }));
    }

    #[test]
    fn halves_are_read_exactly_and_written_rounded() {
        let data = vec![1.0, -2.5, 0.1, 65_504.0, f32::INFINITY, f32::from_bits(1)];
        let tensors = Tensors::from([("w".to_owned(), Tensor { shape: vec![6], data: data.clone() })]);
        let text = TextByKey::from([("step".to_owned(), "12".to_owned())]);
        for (dtype, round) in [
            (DType::F16, (|x| f16::from_f32(x).to_f32()) as fn(f32) -> f32),
            (DType::Bf16, |x| bf16::from_f32(x).to_f32()),
            (DType::F32, |x| x),
        ] {
            let bytes = write_safetensors_as(&tensors, dtype, &text).unwrap();
            let file = SavedTensors::read(&bytes).unwrap();
            assert_eq!((file.names(), file.text(), file.dtype("w")), (vec!["w"], &text, Ok(dtype)));
            let rounded: Vec<f32> = data.iter().copied().map(round).collect();
            assert_eq!((file.shape("w").unwrap(), file.tensor("w").unwrap().data), (vec![6], rounded));
            assert_eq!(file.tensor("v"), Err(WeightsError::Missing { name: "v".into() }));
        }
        let great = Tensors::from([("w".to_owned(), Tensor { shape: vec![3], data: vec![65_520.0, 1.0, -1e9] })]);
        let refused = write_safetensors_as(&great, DType::F16, &text).unwrap_err();
        assert_eq!(refused.to_string(), "tensor `w`: 2 values lie beyond the range of f16");
        assert!(write_safetensors_as(&great, DType::Bf16, &text).is_ok());
    }
}
