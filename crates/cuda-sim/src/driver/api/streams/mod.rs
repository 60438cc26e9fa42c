//! Streams, events, and capture.

pub(super) mod event;
pub(super) mod stream;
pub(super) mod stream_capture;
