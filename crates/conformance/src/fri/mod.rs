//! Specifications of the `fri` op set.
//!
//! The oracle is the definition, with points computed from their indices and divided by. There are
//! also published vectors of stwo 2.3.

mod fold;
mod last_layer;
mod open;

use backend_api::{BackendError, Queue};
use core_types::{
    circle::{CirclePointIndex, bit_reversed},
    field::{M31, QM31, Twiddle},
};

use crate::{
    Buf, Conditioned, OpSpec,
    circle::model::{ElementStream, layer_coordinates},
    list::ListIterator as _,
};

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    vec![fold::fold(), last_layer::last_layer(), open::open_columns(), open::open_groups()]
}

/// The inverse twiddles of the canonic domain of `2^log_size` points.
///
/// They are stored layer after layer, followed by a one.
fn inverse_twiddles(q: &Conditioned, log_size: u32) -> Result<Buf<Twiddle>, BackendError> {
    let inverse = |x: M31| Twiddle::new(x.inverse().unwrap_or(M31::ZERO));
    q.upload(&layer_coordinates(log_size).into_iter().map(inverse).list())
}

/// The x-coordinate at stored position `position` of the line of `2^log_size` points.
fn line_x(position: usize, log_size: u32) -> M31 {
    let unit = 1u32 << (29 - log_size);
    CirclePointIndex::new(unit + unit * 4 * bit_reversed(position as u32, log_size)).to_point().x
}

/// `x / divisor` for a coordinate that is not zero.
fn divided(x: QM31, divisor: M31) -> QM31 {
    QM31::from(divisor).inverse().map_or(QM31::ZERO, |inverse| x * inverse)
}

/// Random values, the same for each size.
fn random(log_size: u32) -> Vec<QM31> {
    let mut stream = ElementStream::new(77 + u64::from(log_size));
    (0..1 << log_size).map(|_| stream.qm31()).list()
}
