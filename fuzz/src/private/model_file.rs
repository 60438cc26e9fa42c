//! Model files: an accepted file has one content, and planning and running it never panic.

use inference::{InferenceError, Model, ModelFile, Parameter, Parameters, plain};

use super::check_error;

/// The longest files that are planned; longer ones are only read.
///
/// Planning fits a polynomial to each piece of each activation.
const MAX_PLANNED_BYTES: usize = 1024;
/// Elements of a tensor and of all weights of a model that is planned and run.
const MAX_ELEMENTS: usize = 1 << 12;
const MAX_WEIGHTS: usize = 1 << 16;

/// Checks one input.
pub fn check_input(data: &[u8]) {
    let file = match ModelFile::read(data) {
        Ok(file) => file,
        Err(error) => return check_error(&error),
    };
    assert_eq!(ModelFile::read(file.json()).as_ref(), Ok(&file), "another content after it is written");
    assert!(file.max_count() >= 1, "a model without a batch");
    let is_small = file.max_count() >= (1 << 26) / MAX_ELEMENTS && data.len() <= MAX_PLANNED_BYTES;
    // tokens for an embedding, values for any other layer
    let least = if file.is_one_hot() { 0.0 } else { file.input_limits()[0] as f32 };
    let model = Model::new(file.into(), 1).expect("a batch of one input");
    let weights: usize = model.parameters().iter().map(Parameter::len).sum();
    if is_small && weights <= MAX_WEIGHTS {
        check_model(&model, least).unwrap_or_else(|error| check_error(&error));
    }
}

/// Plans a model and runs it in the clear, on weights of zero and inputs of `least`.
fn check_model(model: &Model, least: f32) -> Result<(), InferenceError> {
    model.plan()?;
    let shape = model.input_shapes().pop().expect("a shape of inputs");
    let input = model.encode(&shape, &vec![least; shape.iter().product()])?;
    let results = plain::logits(model, &Parameters::zeros(model), &input)?;
    assert_eq!(results.len(), model.output_shape().iter().product::<usize>(), "elements of the results");
    Ok(())
}
