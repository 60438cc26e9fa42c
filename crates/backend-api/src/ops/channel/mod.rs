//! The transcript of a proof, on the device: what was said, and the challenges drawn from it.
//!
//! It is stwo 2.3's Blake2s channel. Saying words makes the digest that of the old digest and the words, and starts the count of
//! draws again. A draw is the digest of digest, count and a zero byte: eight words. Challenges take four words each, of which
//! all eight have to be below `2 P`, or the draw is repeated.

mod draw;
mod grind;
mod mix_digests;
mod mix_felts;
mod mix_words;
mod queries;

pub use draw::ChannelDraw;
pub use grind::ChannelGrind;
pub use mix_digests::ChannelMixDigests;
pub use mix_felts::ChannelMixFelts;
pub use mix_words::ChannelMixWords;
pub use queries::ChannelQueries;

pub use super::sets::ChannelOps;
