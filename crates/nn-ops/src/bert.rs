//! BERT: embeddings of sentences by the tensors of a published file.
//!
//! Devlin et al., "BERT", arXiv 1810.04805. Blocks are as in Vaswani et al., "Attention Is All
//! You Need", 2017, section 3.1, with GELU and a norm after each sum; MiniLM (Wang et al., arXiv
//! 2002.10957) has the same layers.

use backend_api::Queue;

use crate::{
    Activation, Reduction,
    attention::{AttentionInputs, AttentionMask, AttentionOptions, AttentionPlan, AttentionShape},
    error::{NnError, Result},
    functional::Functional,
    io::weights::{self, Tensors},
    layers::LayerOps,
    rows::NormPlan,
    tensor::{Tensor, TensorRef},
};

const OP: &str = "bert_encoder";

/// A BERT that encodes batches of token sequences, in f32.
///
/// Its tensors have the names of Hugging Face's `BertModel`. Tensors that are not read, such as
/// `embeddings.position_ids` and `pooler.dense.*`, may be in the file. All tokens are of type 0, so
/// pairs of sentences cannot be encoded.
///
/// ```
/// use nn_ops::{BertEncoder, io::read_safetensors};
/// # use nn_ops::io::{Tensor, Tensors, write_safetensors};
///
/// # let norms = ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"];
/// # let dense = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
/// #     "intermediate.dense", "output.dense"];
/// # let norms = norms.map(|name| (format!("{name}.LayerNorm"), vec![4]));
/// # let dense = dense.map(|name| (format!("encoder.layer.0.{name}"), vec![4, 4]));
/// # let mut tensors = Tensors::new();
/// # for (name, shape) in norms.into_iter().chain(dense) {
/// #     let count = shape.iter().product();
/// #     tensors.insert(format!("{name}.weight"), Tensor { shape, data: vec![0.5; count] });
/// #     tensors.insert(format!("{name}.bias"), Tensor { shape: vec![4], data: vec![0.0; 4] });
/// # }
/// # for (name, rows) in [("word", 3), ("position", 8), ("token_type", 2)] {
/// #     let data = (0..rows * 4).map(|at| (at * 7 % 5) as f32).collect();
/// #     tensors.insert(format!("embeddings.{name}_embeddings.weight"), Tensor { shape: vec![rows, 4], data });
/// # }
/// # let bytes = write_safetensors(&tensors)?;
/// let q = runtime::cpu()?;
/// let encoder = BertEncoder::new(&q, &read_safetensors(&bytes)?, 2, 1e-12)?; // two heads
/// let tokens = [[1, 2, 0], [2, 0, 0]]; // padded with 0
/// let keep = [[true, true, true], [true, false, false]];
/// let sentences = encoder.embed(&q, tokens.as_flattened(), [2, 3], Some(keep.as_flattened()))?;
/// assert_eq!(sentences.layout().shape(), [2, encoder.width()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BertEncoder<Q: Queue> {
    words: Tensor<Q, f32>,
    positions: Tensor<Q, f32>,
    types: Tensor<Q, f32>,
    norm: Norm<Q>,
    blocks: Vec<Block<Q>>,
    heads: usize,
    eps: f32,
}

/// Weights `[outputs, inputs]` and a bias.
struct Projection<Q: Queue> {
    weight: Tensor<Q, f32>,
    bias: Tensor<Q, f32>,
}

/// The factors and addends of a layer norm.
struct Norm<Q: Queue> {
    gamma: Tensor<Q, f32>,
    beta: Tensor<Q, f32>,
}

/// Attention and two dense layers, with a norm of the sum after each part.
struct Block<Q: Queue> {
    query: Projection<Q>,
    key: Projection<Q>,
    value: Projection<Q>,
    mixed: Projection<Q>,
    mixed_norm: Norm<Q>,
    up: Projection<Q>,
    down: Projection<Q>,
    norm: Norm<Q>,
}

impl<Q: LayerOps> BertEncoder<Q> {
    /// Copies the tensors of a file to the device.
    ///
    /// `eps` is added to the variance of norms; MiniLM has 12 heads and an eps of 1e-12. The number
    /// of layers and all widths follow from the tensors.
    ///
    /// # Errors
    /// [`NnError::MissingTensor`] if a tensor is not there, [`NnError::NamedTensor`] if one has
    /// another shape than the others need, [`NnError::Parameter`] unless `heads` divides the width,
    /// for heads of more than 128 elements, and for an eps that is negative or not finite;
    /// [`NnError::Backend`] if memory is short.
    pub fn new(q: &Q, file: &Tensors, heads: usize, eps: f32) -> Result<Self> {
        // Sizes and options.
        let load = Loader { q, file };
        let table = |name: &str| format!("embeddings.{name}_embeddings.weight");
        let [_, width] = load.matrix_shape(&table("word"))?;
        if width.checked_rem(heads) != Some(0) {
            return Err(NnError::parameter(OP, "number of heads", "a divisor of the width", heads as f64));
        }
        NormPlan::new(&[0, width], eps)?;
        attention_plan([0, 0, heads, width / heads])?;
        // The tensors. Without any layer, the first tensor of layer 0 is missing.
        let name = |layer: usize| format!("encoder.layer.{layer}");
        let is_there = |&layer: &usize| file.contains_key(&format!("{}.attention.self.query.weight", name(layer)));
        let layers = (0..).take_while(is_there).count().max(1);
        Ok(Self {
            words: load.table(&table("word"), width)?,
            positions: load.table(&table("position"), width)?,
            types: load.table(&table("token_type"), width)?,
            norm: load.norm("embeddings.LayerNorm", width)?,
            blocks: (0..layers).map(|layer| load.block(&name(layer), width)).collect::<Result<_>>()?,
            heads,
            eps,
        })
    }

    /// Elements of a state and of an embedding.
    #[must_use]
    pub fn width(&self) -> usize {
        self.words.layout().shape()[1]
    }

    /// The embedding of each sequence, `[batch, width]`: the mean of the states of its tokens.
    ///
    /// The arguments are as for [`states`](Self::states). Models of `sentence-transformers` divide
    /// an embedding by its Euclidean norm.
    ///
    /// # Errors
    /// As [`states`](Self::states), and [`NnError::EmptyReduction`] for a sequence without a token.
    pub fn embed(&self, q: &Q, tokens: &[u32], shape: [usize; 2], keep: Option<&[bool]>) -> Result<Tensor<Q, f32>> {
        let ([batch, rows], width) = (shape, self.width());
        let states = self.states(q, tokens, shape, keep)?;
        let Some(keep) = keep else { return Functional::reduce(q, Reduction::Mean, &states, &[1]) };
        let count = |flags: &[bool]| flags.iter().filter(|&&keep| keep).count() as f32;
        let counts: Vec<f32> = keep.chunks(rows.max(1)).map(count).collect();
        if rows == 0 || counts.contains(&0.0) {
            return Err(NnError::EmptyReduction { op: OP });
        }
        // Zeros are selected, not multiplied: NaN of a token that takes no part does not spread.
        let flags = Tensor::from_values(q, &[batch, rows, 1], keep)?;
        let zero = Functional::filled(q, &[], 0.0)?;
        let states = Functional::select(q, &flags.at().broadcast(&[batch, rows, width])?, &states, &zero)?;
        let sums = Functional::reduce(q, Reduction::Sum, &states, &[1])?;
        Functional::div(q, &sums, &Tensor::from_values(q, &[batch, 1], &counts)?)
    }

    /// The states of all tokens after the last layer, `[batch, rows, width]`.
    ///
    /// `tokens` are row-major of shape `[batch, rows]`, and so is `keep`, if given. Tokens with
    /// `false` there, such as padding, take no part in the states of the others.
    ///
    /// # Errors
    /// [`NnError::Length`] if the number of tokens or flags is not `batch rows`, [`NnError::Index`]
    /// for a token beyond the vocabulary, [`NnError::Slice`] for more rows than positions,
    /// [`NnError::Backend`] from the device.
    pub fn states(&self, q: &Q, tokens: &[u32], shape: [usize; 2], keep: Option<&[bool]>) -> Result<Tensor<Q, f32>> {
        // Lengths, and what all blocks share.
        let ([batch, rows], width) = (shape, self.width());
        let expected = batch.checked_mul(rows).ok_or(NnError::Overflow { op: OP })?;
        let lengths = [("tokens", tokens.len()), ("flags", keep.map_or(expected, <[bool]>::len))];
        if let Some(&(tensor, got)) = lengths.iter().find(|&&(_, got)| got != expected) {
            return Err(NnError::Length { op: OP, tensor, expected, got });
        }
        let plan = attention_plan([batch, rows, self.heads, width / self.heads])?;
        let keep = keep.map(|keep| Tensor::from_values(q, &[batch, 1, 1, rows], keep)).transpose()?;

        // The sum of the three embeddings of each token.
        let places = Functional::add(q, &self.positions.narrowed(0, 0..rows)?, &self.types.narrowed(0, 0..1)?)?;
        let words = Functional::gather(q, &self.words, tokens)?.into_shape(&[batch, rows, width])?;
        let sum = Functional::add(q, &words, &places)?;
        let (mut x, _) = Functional::layer_norm(q, &sum, self.norm.gamma(), self.norm.beta(), self.eps)?;

        for block in &self.blocks {
            x = block.forward(q, &plan, self.eps, &x, keep.as_ref())?;
        }
        Ok(x)
    }
}

impl<Q: LayerOps> Projection<Q> {
    /// `f(x w^T + bias)`.
    fn forward(&self, q: &Q, x: &Tensor<Q, f32>, f: Activation) -> Result<Tensor<Q, f32>> {
        Functional::linear(q, x, &self.weight.transposed()?, Some(self.bias.at()), f)
    }
}

impl<Q: LayerOps> Norm<Q> {
    fn gamma(&self) -> Option<TensorRef<'_, Q, f32>> {
        Some(self.gamma.at())
    }

    fn beta(&self) -> Option<TensorRef<'_, Q, f32>> {
        Some(self.beta.at())
    }

    /// The norm of `a + b`.
    fn of_sum(&self, q: &Q, a: &Tensor<Q, f32>, b: &Tensor<Q, f32>, eps: f32) -> Result<Tensor<Q, f32>> {
        let (_, normed, _) = Functional::add_layer_norm(q, a, b, self.gamma(), self.beta(), eps)?;
        Ok(normed)
    }
}

impl<Q: LayerOps> Block<Q> {
    /// The states after the block. `keep` has the keys that are read, `[batch, 1, 1, rows]`.
    fn forward(
        &self,
        q: &Q,
        plan: &AttentionPlan,
        eps: f32,
        x: &Tensor<Q, f32>,
        keep: Option<&Tensor<Q, bool>>,
    ) -> Result<Tensor<Q, f32>> {
        // Attention of all heads.
        let AttentionShape { batch, queries, heads, dim, .. } = plan.shape();
        let split = [batch, queries, heads, dim];
        let part = |layer: &Projection<Q>| layer.forward(q, x, Activation::Identity)?.into_shape(&split);
        let (query, key, value) = (part(&self.query)?, part(&self.key)?, part(&self.value)?);
        let mask = keep.map_or(AttentionMask::None, |keep| AttentionMask::Keep(keep.at()));
        let inputs = AttentionInputs { mask, ..AttentionInputs::new(query.at(), key.at(), value.at()) };
        let mut mixed = Tensor::alloc(q, &split)?;
        plan.forward(q, inputs, mixed.at_mut(), None)?;
        let mixed = mixed.into_shape(x.layout().shape())?;
        let x = self.mixed_norm.of_sum(q, &self.mixed.forward(q, &mixed, Activation::Identity)?, x, eps)?;

        // The dense layers.
        let up = self.up.forward(q, &x, Activation::GeluErf)?;
        self.norm.of_sum(q, &self.down.forward(q, &up, Activation::Identity)?, &x, eps)
    }
}

/// The plan of attention of `[batch, rows, heads, dim]`.
fn attention_plan([batch, rows, heads, dim]: [usize; 4]) -> Result<AttentionPlan> {
    let shape = AttentionShape { batch, heads, kv_heads: heads, queries: rows, keys: rows, dim };
    AttentionPlan::new(shape, AttentionOptions::default())
}

/// Copies tensors of a file to a device.
struct Loader<'a, Q: Queue> {
    q: &'a Q,
    file: &'a Tensors,
}

impl<Q: Queue> Loader<'_, Q> {
    fn find(&self, name: &str) -> Result<&weights::Tensor> {
        self.file.get(name).ok_or_else(|| NnError::MissingTensor { name: name.to_owned() })
    }

    /// The shape of a matrix.
    fn matrix_shape(&self, name: &str) -> Result<[usize; 2]> {
        let shape = &self.find(name)?.shape[..];
        let rank = NnError::Rank { op: OP, tensor: "a matrix", expected: 2, got: shape.len() };
        shape.try_into().map_err(|_| NnError::named(name, rank))
    }

    fn tensor(&self, name: &str, expected: &[usize]) -> Result<Tensor<Q, f32>> {
        let weights::Tensor { shape, data } = self.find(name)?;
        if shape != expected {
            return Err(NnError::named(name, NnError::shape(OP, "a tensor", expected, &shape[..])));
        }
        Tensor::from_values(self.q, shape, data).map_err(|reason| NnError::named(name, reason))
    }

    /// Rows of `width` elements.
    fn table(&self, name: &str, width: usize) -> Result<Tensor<Q, f32>> {
        let [rows, _] = self.matrix_shape(name)?;
        self.tensor(name, &[rows, width])
    }

    fn norm(&self, name: &str, width: usize) -> Result<Norm<Q>> {
        let [gamma, beta] = ["weight", "bias"].map(|part| self.tensor(&format!("{name}.{part}"), &[width]));
        Ok(Norm { gamma: gamma?, beta: beta? })
    }

    fn projection(&self, name: &str, [outputs, inputs]: [usize; 2]) -> Result<Projection<Q>> {
        let weight = self.tensor(&format!("{name}.weight"), &[outputs, inputs])?;
        Ok(Projection { weight, bias: self.tensor(&format!("{name}.bias"), &[outputs])? })
    }

    fn block(&self, name: &str, width: usize) -> Result<Block<Q>> {
        let square = |part: &str| self.projection(&format!("{name}.attention.{part}"), [width; 2]);
        let up = format!("{name}.intermediate.dense");
        let [inner, _] = self.matrix_shape(&format!("{up}.weight"))?;
        Ok(Block {
            query: square("self.query")?,
            key: square("self.key")?,
            value: square("self.value")?,
            mixed: square("output.dense")?,
            mixed_norm: self.norm(&format!("{name}.attention.output.LayerNorm"), width)?,
            up: self.projection(&up, [inner, width])?,
            down: self.projection(&format!("{name}.output.dense"), [width, inner])?,
            norm: self.norm(&format!("{name}.output.LayerNorm"), width)?,
        })
    }
}

debug_fields!(BertEncoder<Q: Queue> heads, eps);
