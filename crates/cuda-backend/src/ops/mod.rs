//! The op sets, each op as one or a few launches.

mod air;
mod channel;
mod circle;
mod correction;
mod deep;
mod factor;
mod fri;
mod fss;
mod linalg;
mod merkle;
mod optim;
mod recurrent;
mod share;
mod tensor;
