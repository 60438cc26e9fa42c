//! A transformer over bytes, and the files that it is in.
//!
//! The decoder of GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners",
//! 2019): `x = E[byte] + P[place]`; each block adds `Attention(LN(x))` and then
//! `GELU(LN(x) W + b) W' + b'` to x; the scores of the next byte are `LN(x) E^T`.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use backend_api::DType;
use core_types::params::attention::MAX_HEAD_DIM;
use nn_ops::{
    Activation, AnyLayer, Dense, Embedding, Indices, Init, LayerNorm, MasterWeights, NnError, ParameterArena,
    ParameterId, ParameterSpec, ParameterTable, Parameters, Precision, SelfAttention, Sequential, Start, Tape, Var,
    io::{SavedTensors, Tensors, TextByKey, write_safetensors_as},
};
use runtime::AnyQueue;

use crate::files::parsed;

/// The number of tokens: a byte each.
pub(crate) const BYTES: usize = 256;

/// Units of the layer between the two products of a block, for each unit of its width.
const WIDENING: usize = 4;

/// Added to the variance of a layer norm.
const EPS: f32 = 1e-5;

/// The standard deviation with which both embeddings begin, as in GPT-2.
const DEVIATION: f32 = 0.02;

/// The name of the embedding of places, `[context, width]`.
const PLACES: &str = "places.weight";

/// The key of the number of heads in a file, which no shape implies.
const HEADS: &str = "trefoil.text.heads";

/// The sizes of a model, 1 or more each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextShape {
    /// Features of a place.
    pub(super) width: usize,
    /// Heads of attention, a divisor of the width.
    pub(super) heads: usize,
    /// Blocks.
    pub(super) layers: usize,
    /// The most bytes that it reads at once.
    pub(super) context: usize,
}

impl TextShape {
    /// Refuses sizes that make no model; the error names them.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self { width, heads, layers, context } = *self;
        if [width, heads, layers, context].contains(&0) {
            return Err(format!(
                "expected width, heads, layers and context of 1 or more, got {width}, {heads}, {layers} and {context}"
            ));
        }
        if !width.is_multiple_of(heads) {
            return Err(format!("expected a width that is a multiple of {heads} heads, got {width}"));
        }
        if self.dim() as u64 > MAX_HEAD_DIM {
            let got = self.dim();
            return Err(format!("expected heads of at most {MAX_HEAD_DIM} features (width / heads), got {got}"));
        }
        Ok(())
    }

    /// Features of a head.
    pub(super) fn dim(&self) -> usize {
        self.width / self.heads
    }

    /// The parameters.
    fn specs(&self) -> Vec<ParameterSpec> {
        let Self { width, layers, context, .. } = *self;
        let mut specs = Vec::from(Embedding::specs("bytes", [BYTES, width]));
        specs.push(ParameterSpec::new(PLACES, &[context, width]));
        for block in 0..layers {
            let name = |layer: &str| format!("blocks.{block}.{layer}");
            specs.extend(LayerNorm::specs(&name("attention_norm"), width));
            specs.extend(SelfAttention::specs(&name("attention"), width));
            specs.extend(LayerNorm::specs(&name("mlp_norm"), width));
            specs.extend(Dense::specs(&name("mlp_in"), [width, WIDENING * width]));
            specs.extend(Dense::specs(&name("mlp_out"), [WIDENING * width, width]));
        }
        specs.extend(LayerNorm::specs("norm", width));
        specs
    }
}

/// One block.
#[derive(Debug)]
pub(super) struct TextBlock {
    pub(super) attention_norm: LayerNorm,
    pub(super) attention: SelfAttention,
    /// The norm and the two products after it.
    pub(super) mlp: Sequential,
}

/// The layers of a model.
#[derive(Debug)]
pub(super) struct TextLayers {
    /// The embedding of bytes, whose transpose makes the scores.
    pub(super) bytes: Embedding,
    pub(super) places: ParameterId,
    pub(super) blocks: Vec<TextBlock>,
    pub(super) norm: LayerNorm,
}

impl TextLayers {
    fn find(table: &ParameterTable, shape: TextShape) -> Result<Self, NnError> {
        let block = |block: usize| {
            let name = |layer: &str| format!("blocks.{block}.{layer}");
            let mlp: [AnyLayer; 4] = [
                LayerNorm::find(table, &name("mlp_norm"), EPS)?.into(),
                Dense::find(table, &name("mlp_in"))?.into(),
                Activation::GeluTanh.into(),
                Dense::find(table, &name("mlp_out"))?.into(),
            ];
            Ok::<_, NnError>(TextBlock {
                attention_norm: LayerNorm::find(table, &name("attention_norm"), EPS)?,
                attention: SelfAttention::find(table, &name("attention"), shape.heads)?.causal(),
                mlp: Sequential::new(mlp),
            })
        };
        Ok(Self {
            bytes: Embedding::find(table, "bytes")?,
            places: table.id(PLACES)?,
            blocks: (0..shape.layers).map(block).collect::<Result<_, _>>()?,
            norm: LayerNorm::find(table, "norm", EPS)?,
        })
    }

    /// Records the scores `[windows len, 256]` of the byte after each byte of `windows` windows.
    ///
    /// `bytes` are the windows, each of `len` bytes, at most the context.
    pub(super) fn scores<'a, T: Precision>(
        &self,
        tape: &mut Tape<'a, AnyQueue, T>,
        bytes: &'a Indices<AnyQueue>,
        [windows, len]: [usize; 2],
    ) -> Result<Var, NnError> {
        let width = self.bytes.features();
        let x = tape.embedding(&self.bytes, bytes)?;
        let x = tape.reshape(x, &[windows, len, width])?;
        let places = tape.parameter(self.places)?;
        let places = tape.narrow(places, 0, 0..len)?;
        let mut x = tape.add(x, places)?;
        for block in &self.blocks {
            let normed = tape.layer(block.attention_norm, x)?;
            let branch = tape.layer(block.attention, normed)?;
            x = tape.add(x, branch)?;
            let branch = tape.sequence(&block.mlp, x)?;
            x = tape.add(x, branch)?;
        }
        let x = tape.layer(self.norm, x)?;
        let x = tape.reshape(x, &[windows * len, width])?;
        let bytes = tape.parameter(self.bytes.weight())?;
        let bytes = tape.transpose(bytes)?;
        tape.matmul(x, bytes)
    }
}

impl Parameters for TextLayers {
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
        let limit = DEVIATION * 3f32.sqrt(); // of a uniform distribution with this deviation
        for table in [self.bytes.weight(), self.places] {
            visitor(table, Start::Random(Init::Uniform { low: -limit, high: limit }));
        }
        for block in &self.blocks {
            block.attention_norm.visit(visitor);
            block.attention.visit(visitor);
            block.mlp.visit(visitor);
        }
        self.norm.visit(visitor);
    }
}

/// A transformer over bytes, whose weights are f32, and which is trained in `T`.
#[derive(Debug)]
pub(crate) struct TextModel<T: Precision = f32> {
    pub(super) shape: TextShape,
    pub(super) layers: TextLayers,
    pub(super) weights: MasterWeights<AnyQueue, T>,
}

impl<T: Precision> TextModel<T> {
    /// A model of a checked shape, with random weights that depend only on the seed.
    pub(super) fn random(q: &AnyQueue, shape: TextShape, seed: u64) -> Result<Self, NnError> {
        Self::new(q, shape, |layers, values| layers.initialize(q, values, seed))
    }

    /// A model of a checked shape, with the weights that `tensors` has under their names.
    ///
    /// # Errors
    /// [`NnError::MissingTensor`] or [`NnError::NamedTensor`] for a tensor that is not there or has
    /// another shape; tensors of other names are ignored. [`NnError::Range`] for weights beyond the
    /// range of `T`.
    pub(super) fn import(q: &AnyQueue, shape: TextShape, tensors: &Tensors) -> Result<Self, NnError> {
        Self::new(q, shape, |_, values| {
            let ids = values.table().ids();
            values.import(q, "", tensors, ids)
        })
    }

    /// A model of a checked shape, with the weights that `fill` writes.
    fn new(
        q: &AnyQueue,
        shape: TextShape,
        fill: impl FnOnce(&TextLayers, &mut ParameterArena<AnyQueue, f32>) -> Result<(), NnError>,
    ) -> Result<Self, NnError> {
        let table = ParameterTable::new(&shape.specs())?;
        let layers = TextLayers::find(&table, shape)?;
        let mut values = ParameterArena::zeros(q, &table)?;
        fill(&layers, &mut values)?;
        Ok(Self { shape, layers, weights: MasterWeights::new(q, values)? })
    }

    /// The parameters.
    pub(super) fn table(&self) -> &Arc<ParameterTable> {
        self.weights.values().table()
    }

    /// The number of weights.
    pub(super) fn count(&self) -> Result<usize, NnError> {
        self.layers.count(self.table())
    }

    /// The bytes of a file of this model, in f32.
    pub(super) fn to_bytes(&self, q: &AnyQueue) -> Result<Vec<u8>> {
        let mut tensors = Tensors::new();
        self.weights.values().export(q, "", &mut tensors)?;
        let text = TextByKey::from([(HEADS.to_owned(), self.shape.heads.to_string())]);
        Ok(write_safetensors_as(&tensors, DType::F32, &text)?)
    }
}

impl TextModel {
    /// Reads a file that [`to_bytes`](Self::to_bytes) made.
    ///
    /// # Errors
    /// They name the file, and the tensor that is not there or has another shape.
    pub(crate) fn read(q: &AnyQueue, path: &Path) -> Result<Self> {
        parsed(path, |bytes| {
            let file = SavedTensors::read(bytes)?;
            let tensors = file.tensors()?;
            Ok(Self::import(q, shape_of(file.text(), &tensors)?, &tensors)?)
        })
    }
}

/// The shape of a model in a file.
fn shape_of(text: &TextByKey, tensors: &Tensors) -> Result<TextShape> {
    let heads = text.get(HEADS).and_then(|heads| heads.parse::<usize>().ok());
    let heads = heads.with_context(|| {
        format!("expected a number of heads under `{HEADS}`: `trefoil nn text train` writes such files")
    })?;
    let matrix = |name: &str| match tensors.get(name).map(|tensor| &tensor.shape[..]) {
        Some(&[rows, columns]) => Ok([rows, columns]),
        Some(other) => bail!("tensor `{name}`: expected two axes, got shape {other:?}"),
        None => bail!("there is no tensor `{name}`"),
    };
    let ([rows, width], [context, columns]) = (matrix("bytes.weight")?, matrix(PLACES)?);
    // Then the elements of both tensors bound all sizes, unless a size is 0, which is refused below.
    ensure!(rows == BYTES, "tensor `bytes.weight`: expected {BYTES} rows, got {rows}");
    ensure!(columns == width, "tensor `{PLACES}`: expected {width} columns, got {columns}");
    let is_there = |block: &usize| tensors.contains_key(&format!("blocks.{block}.attention_norm.weight"));
    let layers = (0..tensors.len()).take_while(is_there).count();
    let shape = TextShape { width, heads, layers, context };
    shape.check().map_err(|reason| anyhow!(reason))?;
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use nn_ops::io::read_safetensors;
    use runtime::{Choice, Domain};

    use super::*;
    use crate::queue::open;

    const SHAPE: TextShape = TextShape { width: 8, heads: 2, layers: 2, context: 5 };

    fn read(bytes: &[u8]) -> Result<TextModel> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        TextModel::read(&open(Domain::Nn, Some(Choice::Cpu))?, file.path())
    }

    #[test]
    fn a_model_comes_back_from_its_file() {
        let q = open(Domain::Nn, Some(Choice::Cpu)).unwrap();
        let model = TextModel::<f32>::random(&q, SHAPE, 3).unwrap();
        let bytes = model.to_bytes(&q).unwrap();
        let again = read(&bytes).unwrap();
        assert_eq!((again.shape, again.to_bytes(&q).unwrap()), (SHAPE, bytes));
        // Both embeddings, two blocks and the last norm.
        let block = 2 * 8 + (8 * 24 + 24 + 8 * 8 + 8) + 2 * 8 + (8 * 32 + 32 + 32 * 8 + 8);
        assert_eq!(model.count().unwrap(), 256 * 8 + 5 * 8 + 2 * block + 2 * 8);
        let other = TextModel::<f32>::random(&q, SHAPE, 4).unwrap();
        assert_ne!(other.to_bytes(&q).unwrap(), again.to_bytes(&q).unwrap());
    }

    #[test]
    fn a_file_of_other_shapes_is_refused_by_the_tensor() {
        let q = open(Domain::Nn, Some(Choice::Cpu)).unwrap();
        let whole = read_safetensors(&TextModel::<f32>::random(&q, SHAPE, 3).unwrap().to_bytes(&q).unwrap()).unwrap();
        let refused = |heads: &str, change: &dyn Fn(&mut Tensors)| {
            let (mut tensors, text) = (whole.clone(), TextByKey::from([(HEADS.to_owned(), heads.to_owned())]));
            change(&mut tensors);
            format!("{:#}", read(&write_safetensors_as(&tensors, DType::F32, &text).unwrap()).unwrap_err())
        };
        let keep = |_: &mut Tensors| ();
        assert!(refused("two", &keep).contains(HEADS));
        assert!(refused("0", &keep).contains("1 or more"));
        assert!(refused("3", &keep).contains("a multiple of 3 heads, got 8"));
        let lost = refused("2", &|tensors| drop(tensors.remove("bytes.weight")));
        assert!(lost.ends_with("there is no tensor `bytes.weight`"), "{lost}");
        let lost = refused("2", &|tensors| drop(tensors.remove("blocks.1.mlp_in.bias")));
        assert!(lost.ends_with("there is no tensor `blocks.1.mlp_in.bias`"), "{lost}");
        let flat = refused("2", &|tensors| tensors.get_mut("norm.weight").unwrap().shape = vec![2, 4]);
        assert!(flat.contains("norm.weight") && flat.contains("expected a tensor of shape [8], got [2, 4]"), "{flat}");
        let flat = refused("2", &|tensors| tensors.get_mut(PLACES).unwrap().shape = vec![40]);
        assert!(flat.contains("expected two axes, got shape [40]"), "{flat}");
        let turned = refused("2", &|tensors| tensors.get_mut("bytes.weight").unwrap().shape = vec![8, 256]);
        assert!(turned.contains("expected 256 rows, got 8"), "{turned}");
        let turned = refused("2", &|tensors| tensors.get_mut(PLACES).unwrap().shape = vec![8, 5]);
        assert!(turned.contains("expected 8 columns, got 5"), "{turned}");
        // Sizes without elements: a width whose products overflow, and a context that no memory holds.
        let heads = (1usize << 56).to_string();
        let huge = refused(&heads, &|tensors| {
            let bytes = tensors.get_mut("bytes.weight").unwrap();
            (bytes.shape, bytes.data) = (vec![0, 1 << 62], Vec::new());
        });
        assert!(huge.contains("expected 256 rows, got 0"), "{huge}");
        let huge = refused("2", &|tensors| {
            let places = tensors.get_mut(PLACES).unwrap();
            (places.shape, places.data) = (vec![1 << 40, 0], Vec::new());
        });
        assert!(huge.contains("expected 8 columns, got 0"), "{huge}");
    }

    #[test]
    fn sizes_that_make_no_model_are_refused() {
        assert_eq!(SHAPE.check(), Ok(()));
        for shape in [
            TextShape { width: 0, ..SHAPE },
            TextShape { layers: 0, ..SHAPE },
            TextShape { heads: 3, ..SHAPE },
            TextShape { width: 258, ..SHAPE },
        ] {
            assert!(shape.check().is_err(), "{shape:?}");
        }
    }
}
