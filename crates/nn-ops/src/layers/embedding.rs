//! Rows of a trained table by index.

use super::{
    gradients::cleared,
    layer::LayerOps,
    parameters::{Parameters, Start},
};
use crate::{
    error::{NnError, Result},
    functional::readable::Readable,
    movement::Indices,
    optim::{ParameterArena, ParameterId, ParameterSpec, ParameterTable, Precision},
    tensor::{Init, Tensor, TensorRef},
};

const OP: &str = "embedding";

/// A trained table of rows, which are read by index.
///
/// ```
/// use nn_ops::{Embedding, Indices, ParameterArena, ParameterTable, Tensor};
///
/// let q = runtime::cpu()?;
/// let table = ParameterTable::new(&Embedding::specs("tokens", [3, 2]))?;
/// let tokens = Embedding::find(&table, "tokens")?;
/// let (mut values, mut gradients) = (ParameterArena::zeros(&q, &table)?, ParameterArena::zeros(&q, &table)?);
/// values.write(&q, tokens.weight(), &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
///
/// let text = Indices::new(&q, 3, &[2, 0, 2])?;
/// let x = tokens.forward(&q, &values, &text)?;
/// assert_eq!(x.values(&q)?, [5.0, 6.0, 1.0, 2.0, 5.0, 6.0]);
/// let g = Tensor::from_values(&q, &[3, 2], &[1.0f32; 6])?;
/// tokens.backward(&q, &text, g.at(), &mut gradients)?;
/// assert_eq!(gradients.values(&q, tokens.weight())?, [1.0, 1.0, 0.0, 0.0, 2.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embedding {
    weight: ParameterId,
    rows: usize,
    features: usize,
}

impl Embedding {
    /// The table `name.weight` of `[rows, features]`.
    #[must_use]
    pub fn specs(name: &str, [rows, features]: [usize; 2]) -> [ParameterSpec; 1] {
        [ParameterSpec::new(format!("{name}.weight"), &[rows, features])]
    }

    /// The embedding of the tensor `name.weight`.
    ///
    /// # Errors
    /// [`NnError::MissingTensor`] if it is not there, [`NnError::NamedTensor`] unless it is a
    /// matrix.
    pub fn find(table: &ParameterTable, name: &str) -> Result<Self> {
        let name = format!("{name}.weight");
        let weight = table.id(&name)?;
        let lengths = table.layout(weight)?.lengths(OP, "weight");
        let [rows, features] = lengths.map_err(|reason| NnError::named(name, reason))?;
        Ok(Self { weight, rows, features })
    }

    /// The table.
    #[must_use]
    pub fn weight(&self) -> ParameterId {
        self.weight
    }

    /// Rows of the table.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Features of a row.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// The rows that `indices` name, `[count, features]`.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for indices into another number of rows, [`NnError::Axis`] for
    /// values of another table, [`NnError::Backend`] from the device.
    pub fn forward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        indices: &Indices<Q>,
    ) -> Result<Tensor<Q, T>> {
        let mut y = Tensor::alloc(q, &[indices.count(), self.features])?;
        indices.gather(q, values.at(self.weight)?, y.at_mut())?;
        Ok(y)
    }

    /// Adds the gradient `g` of the rows, `[count, features]`, to the gradient of the table.
    ///
    /// The sums are in f32.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and after an error of the device while it adds as
    /// [`Layer::backward`](crate::Layer::backward).
    pub fn backward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        indices: &Indices<Q>,
        g: TensorRef<'_, Q, T>,
        gradients: &mut ParameterArena<Q, f32>,
    ) -> Result<()> {
        let g = Readable::widened(q, g)?;
        let added = indices.scatter_add(q, g.at(), gradients.at_mut(self.weight)?);
        added.map_err(|error| match error {
            NnError::Backend(_) => cleared(q, "embedding_backward", self, gradients, error),
            refused => refused,
        })
    }
}

impl Parameters for Embedding {
    /// The table begins uniform in `-0.05..0.05`: a standard deviation of 0.029 (GPT-2: 0.02).
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
        visitor(self.weight, Start::Random(Init::Uniform { low: -0.05, high: 0.05 }));
    }
}
