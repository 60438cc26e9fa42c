//! Streams, and the recordings they serve.

mod recording;
mod track;

pub(crate) use recording::{GraphRecording, Used};
pub(crate) use track::Track;
