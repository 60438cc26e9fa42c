//! Models that are Rust functions on layers.
//!
//! They use the layers of model files, checked in the same way. A function cannot see the words of
//! its values, so that it does the same for the planner, in the clear and on either party's shares.

use core::{fmt, ops::Range};
use std::sync::Arc;

use pfss::SignedRange;

use super::{
    Model,
    described::{layer_parameters, of_layer, run_layer},
    layers::LayerBuilder,
};
use crate::{
    Architecture, Engine, InferenceError, ModelFileError, ModelLimits, Preference, Tensor,
    engine::Recorder,
    fixed_point::ONE,
    function::{Execution, FunctionModel, ModelFunction, TracedFacts},
    model_file::{Activation, AttentionLimits, Convolution, LayerKind, PlacedLayer, check_head, elements},
};

/// The epsilon of a layer norm, 1/16.
const EPSILON: f64 = 0.0625;

/// The layers of a model that is a function, one method for each.
///
/// Names of layers begin the names of their steps and weights; no two layers have the same. Weights
/// are named and stored as by PyTorch: `docs/own-model.md` has a table. Ranges are proven from
/// layer to layer, from the [`ModelLimits`].
pub struct Layers<'a> {
    engine: &'a mut dyn Engine,
    weight_limit: u32,
    preference: Preference,
    trace: Option<&'a mut TracedFacts>,
    run: FunctionRun,
}

/// The identity of one run of a function, compared by address. Its values have copies.
#[derive(Clone, Default)]
struct FunctionRun(Arc<()>);

impl FunctionRun {
    /// Refuses a value of another run, whose words may be of another engine.
    fn check(&self, place: &str, expected: &str, x: &Value) -> Result<(), InferenceError> {
        if Arc::ptr_eq(&self.0, &x.run.0) {
            return Ok(());
        }
        Err(refused(place, expected, format!("{} words of another run", x.tensor.words.len())))
    }
}

/// A value of a model: a tensor for each input of the batch.
///
/// Its words, or a share of them, stay inside. It belongs to one run of the function: layers, sums
/// and results refuse values of another run.
#[derive(Clone)]
pub struct Value {
    run: FunctionRun,
    tensor: Tensor,
    /// The shape for one input.
    shape: Vec<u32>,
    /// Whether it is the input of the model.
    is_input: bool,
}

/// A convolution; pairs are vertical, then horizontal.
///
/// Along an axis of `p` pixels the result has `(p + 2 padding - kernel) / stride + 1` pixels,
/// rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2d {
    /// Channels of the result.
    pub outputs: u32,
    /// The size of a kernel, 1 to 64.
    pub kernel: [u32; 2],
    /// Pixels between two places of the kernel, 1 to 64; `[1, 1]` for every pixel.
    pub stride: [u32; 2],
    /// Zeros before and after the pixels, at most 64 on each side.
    pub padding: [u32; 2],
    /// Whether a bias is added to each channel.
    pub bias: bool,
}

/// Attention of each position to all positions, or to those up to its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attention {
    /// Heads, each of a power of four of the width's elements.
    pub heads: u32,
    /// Whether a position attends only to itself and to the positions before it.
    pub causal: bool,
    /// Declared magnitudes of projections and of scores; `None` leaves the proven ranges.
    ///
    /// Projections are queries, keys and values. Scores are divided by the root of a head's width.
    /// A run on shares does not check these limits, and values beyond them give arbitrary results.
    /// A run in the clear does.
    pub limits: Option<[u32; 2]>,
}

impl Model {
    /// A model that is a Rust function, for one input of this shape.
    ///
    /// The name has 1 to 64 letters, digits, `_`, `-` and `.`. The shape has one to three axes of
    /// at most `2^16` each, and at most `2^26` elements.
    ///
    /// `function` lists the layers. It is run once here, on zeros, and then by the planner, in the
    /// clear and on shares, each time for a whole batch. Results have
    /// [`FRACTION_BITS`](crate::FRACTION_BITS). [`Model::new`] makes a model for larger batches
    /// from the [`architecture`](Self::architecture).
    ///
    /// Both parties and the dealer need the same function, and it has to list the same layers each
    /// time. Plans hold its name, limits, shapes and steps with their gates, and the parties
    /// compare them. They do not show what takes no keys, such as sums and strides; key folders do.
    ///
    /// Key folders identify a function and do not hold it. They are dealt as for any other model,
    /// and opened with [`KeyFolder::open_for`](crate::folder::KeyFolder::open_for) or
    /// [`RunsFolder::open_for`](crate::folder::RunsFolder::open_for).
    ///
    /// ```
    /// use inference::{Conv2d, Model, ModelLimits, Parameters, party::{self, Role}, plain};
    /// use pfss::{Dealer, memory_pair};
    ///
    /// let limits = ModelLimits { weights: 1, inputs: [0, 1] };
    /// let model = Model::from_fn("pictures", &[1, 4, 4], limits, |layers, images| {
    ///     let conv = Conv2d { outputs: 2, kernel: [3, 3], stride: [2, 2], padding: [1, 1], bias: true };
    ///     let x = layers.conv2d("conv", images, &conv)?;
    ///     let x = layers.relu("relu", &x)?.flatten();
    ///     let y = layers.dense("mix", &x, 8, true)?;
    ///     let y = layers.gelu("gelu", &y)?;
    ///     layers.dense("output", &x.add(&y)?, 3, true)
    /// })?;
    /// assert_eq!((model.input_len(), model.output_shape()), (16, vec![1, 3]));
    /// assert_eq!(model.parameters()[0].shape, [2, 1, 3, 3]);
    ///
    /// // It is planned, dealt and run like any other.
    /// let [client, server] = model.plan()?.deal(&runtime::cpu()?, &mut Dealer::from_os()?, |_| ())?;
    /// let (weights, image) = (Parameters::zeros(&model), model.encode(&[1, 1, 4, 4], &[0.5; 16])?);
    /// let (to_server, to_client) = memory_pair(std::time::Duration::from_secs(10));
    /// let queues = [runtime::cpu()?, runtime::cpu()?];
    /// let role = Role::Server(&weights);
    /// let results = std::thread::scope(|scope| {
    ///     let serving = scope.spawn(|| party::run(&queues[1], &model, server, to_client, role, |_| ()));
    ///     let role = Role::Client(&image);
    ///     let inferred = party::run(&queues[0], &model, client, to_server, role, |_| ())?;
    ///     serving.join().map_err(|_| "the server ends")??;
    ///     Ok::<_, Box<dyn std::error::Error>>(inferred.logits)
    /// })?;
    /// assert_eq!(results, Some(plain::logits(&model, &weights, &image)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`InferenceError::LayerValue`] for a name, a shape or a limit that is not allowed, and the
    /// errors of `function`.
    pub fn from_fn<F>(name: &str, input_shape: &[u32], limits: ModelLimits, function: F) -> Result<Self, InferenceError>
    where
        F: Fn(&mut Layers<'_>, &Value) -> Result<Value, InferenceError> + Send + Sync + 'static,
    {
        check_head(name, input_shape, limits.weights, limits.inputs).map_err(of_function)?;
        if Architecture::ALL.iter().any(|known| known.name() == name) {
            return Err(refused("name", "a name that is not a built-in model's", format!("{name:?}")));
        }
        let len = elements(input_shape);
        let [min, max] = limits.inputs.map(|limit| i64::from(limit) * ONE);
        let input = Tensor { words: vec![0; len as usize].into(), range: SignedRange::new(min, max)? };

        // The first run, on zeros, shows the weights and the shape of the results.
        let mut trace = TracedFacts { largest: len, ..TracedFacts::default() };
        let execution = Execution {
            engine: &mut Recorder::default(),
            weight_limit: limits.weights,
            preference: Preference::default(),
            trace: Some(&mut trace),
        };
        let function = LayerFunction(function);
        let (_, output_shape) = function.run(execution, input, input_shape)?;
        let (name, input_shape) = (name.to_owned(), input_shape.to_vec());
        let model = FunctionModel { name, input_shape, limits, output_shape, trace, function: Arc::new(function) };
        Self::new(Architecture::Function(Arc::new(model)), 1)
    }
}

impl Layers<'_> {
    /// `x W + b` along the last axis; weights `[outputs, inputs]` as of `nn.Linear`.
    ///
    /// It takes `[.., inputs]` to `[.., outputs]`. Without `bias`, b is zero.
    ///
    /// # Errors
    /// [`InferenceError::LayerValue`] for a name or a length that is not allowed, or an input of
    /// another shape than the layer takes, or of another run. [`InferenceError::Layer`] if its
    /// range cannot be proven. The errors of the engine that runs it.
    pub fn dense(&mut self, name: &str, x: &Value, outputs: u32, bias: bool) -> Result<Value, InferenceError> {
        self.apply(name, LayerKind::Dense { outputs, bias, limit: None }, x)
    }

    /// A convolution of images `[channels, height, width]`, as `nn.Conv2d`.
    ///
    /// The result is `[outputs, height, width]` with the sizes that [`Conv2d`] states. It is the
    /// product of the kernels and a row of `channels` times kernel size elements for each pixel of
    /// the result.
    ///
    /// # Errors
    /// As [`dense`](Self::dense).
    pub fn conv2d(&mut self, name: &str, x: &Value, convolution: &Conv2d) -> Result<Value, InferenceError> {
        let Conv2d { outputs, kernel, stride, padding, bias } = *convolution;
        self.apply(name, LayerKind::Conv2d(Convolution { outputs, kernel, stride, padding, bias, limit: None }), x)
    }

    /// `max(x, 0)` of each element.
    ///
    /// # Errors
    /// As [`dense`](Self::dense).
    pub fn relu(&mut self, name: &str, x: &Value) -> Result<Value, InferenceError> {
        self.apply(name, LayerKind::Activation(Activation::Relu), x)
    }

    /// GeLU of each element, as `nn.GELU()`.
    ///
    /// # Errors
    /// As [`dense`](Self::dense).
    pub fn gelu(&mut self, name: &str, x: &Value) -> Result<Value, InferenceError> {
        self.apply(name, LayerKind::Activation(Activation::Gelu), x)
    }

    /// SiLU of each element, as `nn.SiLU()`.
    ///
    /// # Errors
    /// As [`dense`](Self::dense).
    pub fn silu(&mut self, name: &str, x: &Value) -> Result<Value, InferenceError> {
        self.apply(name, LayerKind::Activation(Activation::Silu), x)
    }

    /// Layer normalisation along the last axis with the epsilon 1/16, as `nn.LayerNorm`.
    ///
    /// With `affine` it has weights and biases. `deviation` declares the greatest standard
    /// deviation of a row; without it the bound follows from the proven range. **No run checks it,
    /// and rows beyond it give arbitrary results.**
    ///
    /// # Errors
    /// As [`dense`](Self::dense).
    pub fn layer_norm(
        &mut self,
        name: &str,
        x: &Value,
        affine: bool,
        deviation: Option<u32>,
    ) -> Result<Value, InferenceError> {
        self.apply(name, LayerKind::LayerNorm { eps: EPSILON, affine, deviation_limit: deviation }, x)
    }

    /// Attention of positions `[positions, width]`, with the layers before and after it.
    ///
    /// There are at most 1024 positions. The result has the same shape.
    ///
    /// # Errors
    /// As [`dense`](Self::dense).
    pub fn attention(&mut self, name: &str, x: &Value, attention: &Attention) -> Result<Value, InferenceError> {
        let Attention { heads, causal, limits } = *attention;
        let limits = limits.map(|[projections, scores]| AttentionLimits { projections, scores });
        self.apply(name, LayerKind::Attention { heads, causal, limits, limit: None }, x)
    }

    /// The row of weights `[vocabulary, outputs]` for each one-hot vector, as `nn.Embedding`.
    ///
    /// It takes the input of the model, `[positions, vocabulary]` with limits 0 and 1, and nothing
    /// else: its range is proven for one-hot vectors, and only inputs are checked to be such. The
    /// result is `[positions, outputs]`.
    ///
    /// # Errors
    /// As [`dense`](Self::dense).
    pub fn embedding(&mut self, name: &str, x: &Value, outputs: u32) -> Result<Value, InferenceError> {
        self.check_run(name, x)?;
        let is_one_hot = x.is_input && x.shape.len() == 2 && (x.tensor.range.min(), x.tensor.range.max()) == (0, ONE);
        if !is_one_hot {
            let expected = "the input of the model, [positions, vocabulary] with limits 0 and 1";
            return Err(refused(&format!("layer {name:?}: its input"), expected, format!("the shape {:?}", x.shape)));
        }
        if let Some(trace) = &mut self.trace {
            trace.is_one_hot = true;
        }
        self.apply(name, LayerKind::Embedding { outputs }, x)
    }

    /// Adds a row of weights to each position of `[positions, width]`.
    ///
    /// # Errors
    /// As [`dense`](Self::dense).
    pub fn position_embedding(&mut self, name: &str, x: &Value) -> Result<Value, InferenceError> {
        self.apply(name, LayerKind::PositionEmbedding, x)
    }

    /// The mean over the positions of `[positions, width]`, or over the pixels of each channel.
    ///
    /// The result is `[width]`, or `[channels]` for `[channels, height, width]`.
    ///
    /// # Errors
    /// As [`dense`](Self::dense).
    pub fn mean_pool(&mut self, name: &str, x: &Value) -> Result<Value, InferenceError> {
        self.apply(name, LayerKind::MeanPool, x)
    }

    /// `x` with a declared limit on magnitudes, an integer, for smaller ranges and keys.
    ///
    /// **A run on shares does not check it, and a value beyond it gives arbitrary results.** A run
    /// in the clear does, and names `name`.
    ///
    /// # Errors
    /// [`InferenceError::Declared`] in the clear for a value beyond it, [`InferenceError::Range`]
    /// if no value of the proven range is within it, and [`InferenceError::LayerValue`] for a value
    /// of another run.
    pub fn limited(&mut self, name: &str, x: &Value, limit: u32) -> Result<Value, InferenceError> {
        self.check_run(name, x)?;
        let tensor = self.builder().limited(name, x.tensor.clone(), Some(limit))?;
        Ok(self.value(tensor, x.shape.clone()))
    }

    /// Checks a layer, records its weights if the model is being made, and runs it.
    fn apply(&mut self, name: &str, kind: LayerKind, x: &Value) -> Result<Value, InferenceError> {
        self.check_run(name, x)?;
        let (mut layer, largest) = PlacedLayer::alone(name, kind, &x.shape).map_err(of_function)?;
        layer.place = format!("layer {name:?}");
        if let Some(trace) = &mut self.trace {
            record(trace, &layer, largest)?;
        }
        let tensor = run_layer(&mut self.builder(), &layer, &x.tensor).map_err(|error| of_layer(&layer, error))?;
        Ok(self.value(tensor, layer.output))
    }

    fn check_run(&self, name: &str, x: &Value) -> Result<(), InferenceError> {
        self.run.check(&format!("layer {name:?}: its input"), "a value of the same run", x)
    }

    fn value(&self, tensor: Tensor, shape: Vec<u32>) -> Value {
        Value { run: self.run.clone(), tensor, shape, is_input: false }
    }

    fn builder(&mut self) -> LayerBuilder<'_> {
        LayerBuilder { engine: self.engine, weight_limit: self.weight_limit, preference: self.preference }
    }
}

impl Value {
    /// The shape for one input.
    #[must_use]
    pub fn shape(&self) -> &[u32] {
        &self.shape
    }

    /// The range proven for every element, in fixed point.
    #[must_use]
    pub fn range(&self) -> SignedRange {
        self.tensor.range
    }

    /// `self + other`, element by element: a residual connection.
    ///
    /// # Errors
    /// [`InferenceError::LayerValue`] for another shape or a value of another run,
    /// [`InferenceError::Range`] if the range of the sums leaves 64 bits.
    pub fn add(&self, other: &Self) -> Result<Self, InferenceError> {
        if self.shape != other.shape {
            return Err(refused("sum", format!("the shape {:?}", self.shape), format!("{:?}", other.shape)));
        }
        // Values of one shape and run have the same number of words.
        let expected = format!("a value of the same run, of {} words", self.tensor.words.len());
        self.run.check("sum", &expected, other)?;
        Ok(self.with(self.tensor.add(&other.tensor)?, self.shape.clone()))
    }

    /// All elements on one axis, in row-major order.
    #[must_use]
    pub fn flatten(&self) -> Self {
        // every shape has at most 2^26 elements
        self.with(self.tensor.clone(), vec![elements(&self.shape) as u32])
    }

    /// A range of the rows along the first axis, positions for instance.
    ///
    /// # Errors
    /// [`InferenceError::LayerValue`] for an empty range, or rows that are not there.
    pub fn rows(&self, rows: Range<u32>) -> Result<Self, InferenceError> {
        let (count, rest) = match &self.shape[..] {
            [first, rest @ ..] => (*first, rest),
            [] => (0, &[][..]),
        };
        if rows.is_empty() || rows.end > count {
            return Err(refused("rows", format!("a part of 0..{count}"), format!("{rows:?}")));
        }
        let (one, width) = (elements(&self.shape) as usize, elements(rest) as usize);
        let part = rows.start as usize * width..rows.end as usize * width;
        let words = self.tensor.words.slices(one, part);
        let shape = [rows.end - rows.start].into_iter().chain(rest.iter().copied()).collect();
        Ok(self.with(Tensor { words, range: self.tensor.range }, shape))
    }

    /// A value of the same run.
    fn with(&self, tensor: Tensor, shape: Vec<u32>) -> Self {
        Self { run: self.run.clone(), tensor, shape, is_input: false }
    }
}

/// Adds the name and the weights of a layer to those before it.
fn record(trace: &mut TracedFacts, layer: &PlacedLayer, largest: u64) -> Result<(), InferenceError> {
    if !trace.names.insert(layer.name.clone()) {
        return Err(refused(&layer.place, "a name that no layer before it has", format!("{:?}", layer.name)));
    }
    for parameter in layer_parameters(layer) {
        if trace.parameters.iter().any(|other| other.name == parameter.name) {
            let expected = "weights with names that no layer before it has";
            return Err(refused(&layer.place, expected, format!("`{}`", parameter.name)));
        }
        trace.parameters.push(parameter);
    }
    // Steps are found by their names, which begin with the name of their layer.
    let begins = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
    let name = &layer.name;
    if let Some(other) = trace.names.iter().find(|other| begins(name, other) || begins(other, name)) {
        let expected = format!("a name that is not a part of {other:?} or with it as a part");
        return Err(refused(&layer.place, expected, format!("{name:?}")));
    }
    trace.largest = trace.largest.max(largest);
    Ok(())
}

/// The error of a check that files and functions have in common.
fn of_function(error: ModelFileError) -> InferenceError {
    match error {
        ModelFileError::Value { place, expected, got } => {
            let place = place.replacen("layers[0]", "layer", 1);
            InferenceError::LayerValue { place, expected, got }
        }
        other => other.into(),
    }
}

fn refused(place: &str, expected: impl Into<String>, got: String) -> InferenceError {
    InferenceError::LayerValue { place: place.to_owned(), expected: expected.into(), got }
}

/// A function that lists layers.
struct LayerFunction<F>(F);

impl<F> ModelFunction for LayerFunction<F>
where
    F: Fn(&mut Layers<'_>, &Value) -> Result<Value, InferenceError> + Send + Sync,
{
    fn run(
        &self,
        execution: Execution<'_>,
        input: Tensor,
        shape: &[u32],
    ) -> Result<(Tensor, Vec<u32>), InferenceError> {
        let Execution { engine, weight_limit, preference, trace } = execution;
        let run = FunctionRun::default();
        let mut layers = Layers { engine, weight_limit, preference, trace, run: run.clone() };
        let input = Value { run: run.clone(), tensor: input, shape: shape.to_vec(), is_input: true };
        let results = (self.0)(&mut layers, &input)?;
        run.check("results", "a value of the same run", &results)?;
        Ok((results.tensor, results.shape))
    }
}

impl fmt::Debug for Layers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layers").field("weight_limit", &self.weight_limit).finish_non_exhaustive()
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Value").field("shape", &self.shape).finish_non_exhaustive()
    }
}
