//! The transcript of a proof, on the device: absorbs messages and draws challenges.
//!
//! It is stwo 2.3's Blake2s channel. Absorbing words replaces the digest by the hash of the old
//! digest and the words, and resets the draw counter. A draw is the hash of the digest, the counter
//! and a zero byte: eight words. A challenge takes four words. The draw is repeated unless all
//! eight words are below `2 P`.

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
