//! Columns.

use std::sync::{Arc, LazyLock, OnceLock};

use backend_api::{Buffer as _, Queue};
use stwo::core::{
    fields::{m31::BaseField, qm31::SecureField},
    utils::bit_reverse,
    vcs::blake2_hash::Blake2sHash,
};
use stwo::prover::backend::{Column, ColumnOps};

use crate::{
    TrefoilBackend, Value,
    arena::{Arena, Form, Slice},
    device::{done, queue},
};

/// A column of values on a device.
///
/// What operations make stays there. A column that was made or changed value by value is on the
/// host until an operation needs it.
#[derive(Clone, Debug)]
pub struct DeviceColumn<T: Value> {
    place: Place<T>,
    /// The copy of a column that is on the host.
    copied: OnceLock<Slice<T::Device>>,
}

/// Where the values are.
#[derive(Clone, Debug)]
enum Place<T: Value> {
    /// Nowhere: all are zero.
    Zeros(usize),
    Host(Vec<T>),
    Device(Slice<T::Device>),
    /// Known how to compute, if anybody asks for them.
    Later(usize, Arc<Later<T>>),
}

type Later<T> = LazyLock<Vec<T>, Box<dyn FnOnce() -> Vec<T> + Send>>;

impl<T: Value> DeviceColumn<T> {
    const fn new(place: Place<T>) -> Self {
        Self { place, copied: OnceLock::new() }
    }

    pub(crate) const fn on_device(slice: Slice<T::Device>) -> Self {
        Self::new(Place::Device(slice))
    }

    /// A column that is computed when it is read.
    pub(crate) fn later(len: usize, values: impl FnOnce() -> Vec<T> + Send + 'static) -> Self {
        Self::new(Place::Later(len, Arc::new(LazyLock::new(Box::new(values)))))
    }

    /// Whether all values are zero because none was ever set.
    pub(crate) const fn is_untouched(&self) -> bool {
        matches!(self.place, Place::Zeros(_))
    }

    /// Its values if they are on the host only.
    ///
    /// They are copied when a batch of columns is put together.
    pub(crate) fn host(&self) -> Option<&[T]> {
        match &self.place {
            Place::Host(values) if self.copied.get().is_none() => Some(values),
            _ => None,
        }
    }

    /// Its place on the device, where it is copied to if it is not there.
    pub(crate) fn slice(&self) -> Slice<T::Device> {
        let upload = |values: &[T]| done(queue().upload(&T::to_device(values)));
        match &self.place {
            Place::Device(slice) => slice.clone(),
            other => self
                .copied
                .get_or_init(|| {
                    let buf = match other {
                        Place::Host(values) => upload(values),
                        Place::Later(_, values) => upload(values),
                        Place::Zeros(_) | Place::Device(_) => done(queue().zeros(self.len())),
                    };
                    Slice::all(Arena::new(buf, Form::Other))
                })
                .clone(),
        }
    }

    /// [`slice`](Self::slice), without keeping the column.
    pub(crate) fn into_slice(self) -> Slice<T::Device> {
        match self.place {
            Place::Device(slice) => slice,
            _ => self.slice(),
        }
    }

    /// The values, on the host from now on.
    fn host_mut(&mut self) -> &mut Vec<T> {
        if !matches!(self.place, Place::Host(_)) {
            self.place = Place::Host(self.to_cpu());
        }
        self.copied = OnceLock::new();
        match &mut self.place {
            Place::Host(values) => values,
            _ => unreachable!("the values were just put there"),
        }
    }
}

impl<T: Value> FromIterator<T> for DeviceColumn<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::from(values.into_iter().collect::<Vec<_>>())
    }
}

impl<T: Value> From<Vec<T>> for DeviceColumn<T> {
    fn from(values: Vec<T>) -> Self {
        Self::new(Place::Host(values))
    }
}

impl<T: Value> Column<T> for DeviceColumn<T> {
    fn zeros(len: usize) -> Self {
        Self::new(Place::Zeros(len))
    }

    /// A column of zeros: nothing here is ever uninitialized.
    #[expect(unsafe_code, reason = "the trait has it so; any caller's promise is good enough")]
    unsafe fn uninitialized(len: usize) -> Self {
        Self::zeros(len)
    }

    fn to_cpu(&self) -> Vec<T> {
        match &self.place {
            Place::Zeros(len) => vec![T::default(); *len],
            Place::Host(values) => values.clone(),
            Place::Later(_, values) => values.to_vec(),
            Place::Device(slice) => slice.to_host().into_iter().map(T::from_device).collect(),
        }
    }

    fn len(&self) -> usize {
        match &self.place {
            Place::Zeros(len) | Place::Later(len, _) => *len,
            Place::Host(values) => values.len(),
            Place::Device(slice) => slice.len,
        }
    }

    fn at(&self, index: usize) -> T {
        match &self.place {
            Place::Zeros(len) => {
                assert!(index < *len, "index {index} of a column of {len}");
                T::default()
            }
            Place::Host(values) => values[index],
            Place::Later(_, values) => values[index],
            Place::Device(slice) => T::from_device(slice.at(index)),
        }
    }

    fn set(&mut self, index: usize, value: T) {
        self.host_mut()[index] = value;
    }

    fn split_at_mid(self) -> (Self, Self) {
        match self.place {
            Place::Zeros(len) => (Self::zeros(len / 2), Self::zeros(len - len / 2)),
            Place::Device(slice) => {
                let (left, right) = slice.halves();
                (Self::on_device(left), Self::on_device(right))
            }
            Place::Host(_) | Place::Later(..) => {
                let mut left = self.to_cpu();
                let right = left.split_off(left.len() / 2);
                (left.into(), right.into())
            }
        }
    }
}

/// Reverses the bits of all positions, on the host.
///
/// It is applied to traces, which come from the host.
fn bit_reverse_on_host<T: Value>(column: &mut DeviceColumn<T>) {
    bit_reverse(column.host_mut());
}

impl ColumnOps<BaseField> for TrefoilBackend {
    type Column = DeviceColumn<BaseField>;

    fn bit_reverse_column(column: &mut Self::Column) {
        bit_reverse_on_host(column);
    }
}

impl ColumnOps<SecureField> for TrefoilBackend {
    type Column = DeviceColumn<SecureField>;

    fn bit_reverse_column(column: &mut Self::Column) {
        bit_reverse_on_host(column);
    }
}

impl ColumnOps<Blake2sHash> for TrefoilBackend {
    type Column = DeviceColumn<Blake2sHash>;

    fn bit_reverse_column(column: &mut Self::Column) {
        bit_reverse_on_host(column);
    }
}

/// Columns in one arena, and where each begins: where they are, or copied together.
pub(crate) fn together(columns: &[Slice<core_types::field::M31>]) -> (Arc<Arena<core_types::field::M31>>, Vec<u64>) {
    if let [first, rest @ ..] = columns
        && rest.iter().all(|column| Arc::ptr_eq(&first.arena, &column.arena))
    {
        return (first.arena.clone(), columns.iter().map(|column| column.start as u64).collect());
    }
    let mut buf = done(queue().alloc(columns.iter().map(|column| column.len).sum()));
    let mut first = 0;
    let starts = columns.iter().map(|column| {
        let start = first;
        first += column.len;
        done(queue().copy(column.view(), done(buf.slice_mut(start..first))));
        start as u64
    });
    let starts = starts.collect();
    (Arena::new(buf, Form::Other), starts)
}
