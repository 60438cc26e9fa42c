//! The scores of the next byte, with a cache of the keys and values of earlier bytes.

use nn_ops::{Binary, CacheShape, Indices, KeyValueCache, Layer as _, NnError, Tensor, binary_in_place, matmul};
use runtime::AnyQueue;

use super::model::{BYTES, TextModel};

/// A model that reads a growing text.
pub(crate) struct TextDecoder<'a> {
    q: &'a AnyQueue,
    model: &'a TextModel,
    /// Keys and values of each block.
    caches: Vec<KeyValueCache<AnyQueue, f32>>,
    /// The place in the text of the first byte in the caches.
    first: usize,
}

impl<'a> TextDecoder<'a> {
    /// A decoder that has read nothing.
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub(crate) fn new(q: &'a AnyQueue, model: &'a TextModel) -> Result<Self, NnError> {
        let shape = model.shape;
        let cache = CacheShape { batch: 1, capacity: shape.context, kv_heads: shape.heads, dim: shape.dim() };
        let caches = (0..shape.layers).map(|_| KeyValueCache::new(q, cache)).collect::<Result<_, _>>()?;
        Ok(Self { q, model, caches, first: 0 })
    }

    /// The 256 scores of the byte after `text`, which extends the text of the call before.
    ///
    /// The model reads the new bytes. A text that has outgrown the context is read again from its
    /// last half context on.
    ///
    /// # Errors
    /// [`NnError::EmptyReduction`] for a text without new bytes, [`NnError::Backend`] from the
    /// device.
    pub(crate) fn scores(&mut self, text: &[u8]) -> Result<Vec<f32>, NnError> {
        let (q, TextModel { shape, layers, weights }) = (self.q, self.model);
        let values = weights.values();
        if text.len().saturating_sub(self.first) > shape.context {
            self.first = text.len() - shape.context.div_ceil(2);
            self.caches.iter_mut().for_each(KeyValueCache::clear);
        }
        let new = text.get(self.first + self.cached()..).filter(|new| !new.is_empty());
        let new = new.ok_or(NnError::EmptyReduction { op: "text.scores" })?;
        let x = self.read(new)?;
        let last = layers.norm.apply(q, values, x.at().narrowed(1, new.len() - 1..new.len())?)?;
        let bytes = values.at(layers.bytes.weight())?;
        let mut scores = Tensor::alloc(q, &[1, BYTES])?;
        matmul(q, last.at().reshaped(&[1, shape.width])?, bytes.transposed()?, scores.at_mut())?;
        scores.values(q)
    }

    /// Bytes in the caches.
    fn cached(&self) -> usize {
        self.caches.first().map_or(0, KeyValueCache::len)
    }

    /// Reads bytes, and returns their features after the last block, `[1, bytes, width]`.
    fn read(&mut self, bytes: &[u8]) -> Result<Tensor<AnyQueue, f32>, NnError> {
        let (q, TextModel { shape, layers, weights }) = (self.q, self.model);
        let values = weights.values();
        let (place, count) = (self.cached(), bytes.len());
        // The embeddings of the bytes and of their places.
        let bytes: Vec<u32> = bytes.iter().map(|&byte| byte.into()).collect();
        let mut x = layers.bytes.forward(q, values, &Indices::new(q, BYTES, &bytes)?)?;
        let places = values.at(layers.places)?.narrowed(0, place..place + count)?;
        binary_in_place(q, Binary::Add, x.at_mut(), places)?;
        // The blocks.
        let mut x = x.into_shape(&[1, count, shape.width])?;
        for (block, cache) in layers.blocks.iter().zip(&mut self.caches) {
            let normed = block.attention_norm.apply(q, values, x.at())?;
            let branch = block.attention.decode(q, values, normed.at(), cache)?;
            binary_in_place(q, Binary::Add, x.at_mut(), branch.at())?;
            let branch = block.mlp.apply(q, values, x.at())?;
            binary_in_place(q, Binary::Add, x.at_mut(), branch.at())?;
        }
        Ok(x)
    }
}

#[cfg(test)]
mod tests {
    use nn_ops::{Mode, Tape};
    use runtime::{Choice, Domain};

    use super::*;
    use crate::{nn::text::model::TextShape, queue::open};

    /// The scores of the byte after each byte of a window, by one pass over all of it.
    fn whole(q: &AnyQueue, model: &TextModel, window: &[u8]) -> Vec<f32> {
        let bytes: Vec<u32> = window.iter().map(|&byte| byte.into()).collect();
        let bytes = Indices::new(q, BYTES, &bytes).unwrap();
        let mut tape = Tape::new(q, model.weights.values(), Mode::Inference);
        let scores = model.layers.scores(&mut tape, &bytes, [1, window.len()]).unwrap();
        tape.values(scores).unwrap()
    }

    #[test]
    fn cached_scores_match_a_whole_pass() {
        let q = open(Domain::Nn, Some(Choice::Cpu)).unwrap();
        let shape = TextShape { width: 24, heads: 3, layers: 2, context: 7 };
        let model = TextModel::random(&q, shape, 5).unwrap();
        let text = b"a text that outgrows the context";
        let mut decoder = TextDecoder::new(&q, &model).unwrap();
        assert!(matches!(decoder.scores(b""), Err(NnError::EmptyReduction { .. })));
        // The first places of the windows that end with each byte: with a context of 7, 4 bytes are read again.
        let mut first = 0;
        for len in 1..=text.len() {
            if len - first > 7 {
                first = len - 4;
            }
            let expected = whole(&q, &model, &text[first..len]);
            let expected = &expected[expected.len() - BYTES..];
            let greatest = expected.iter().fold(0f32, |all, score| all.max(score.abs()));
            let got = decoder.scores(&text[..len]).unwrap();
            assert_eq!(got.len(), BYTES);
            for (got, expected) in got.iter().zip(expected) {
                assert!((got - expected).abs() < 1e-5 * greatest, "{len}: {got} {expected}");
            }
        }
        // At once, as a prompt is read.
        let mut other = TextDecoder::new(&q, &model).unwrap();
        let (got, expected) = (other.scores(&text[..6]).unwrap(), whole(&q, &model, &text[..6]));
        let greatest = got.iter().fold(0f32, |all, score| all.max(score.abs()));
        let differ = got.iter().zip(&expected[5 * BYTES..]).fold(0f32, |all, (a, b)| all.max((a - b).abs()));
        assert!(differ < 1e-5 * greatest, "{differ} {greatest}");
    }
}
