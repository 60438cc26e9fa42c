//! Columns.

use std::sync::{Arc, LazyLock, OnceLock};

use backend_api::Queue as _;
use core_types::field::M31;
use stwo::{
    core::utils::bit_reverse,
    prover::backend::{Column, ColumnOps},
};

use crate::{
    TrefoilBackend, Value,
    device::{done, queue},
    memory::arena::{ArenaContents, DeviceArena, Slice},
};

/// A column of values on a device.
///
/// What operations make stays there. A column that was made or changed value by value is on the
/// host until an operation needs it.
#[derive(Clone, Debug)]
pub struct DeviceColumn<T: Value> {
    place: ColumnStorage<T>,
    /// The copy of a column that is on the host.
    copied: OnceLock<Slice<T::Device>>,
}

/// Where the values are.
#[derive(Clone, Debug)]
enum ColumnStorage<T: Value> {
    /// Nowhere: all are zero.
    Zeros(usize),
    Host(Vec<T>),
    Device(Slice<T::Device>),
    /// Known how to compute, if anybody asks for them.
    Later(usize, Arc<Later<T>>),
}

type Later<T> = LazyLock<Vec<T>, Box<dyn FnOnce() -> Vec<T> + Send>>;

impl<T: Value> DeviceColumn<T> {
    const fn new(place: ColumnStorage<T>) -> Self {
        Self { place, copied: OnceLock::new() }
    }

    pub(crate) const fn on_device(slice: Slice<T::Device>) -> Self {
        Self::new(ColumnStorage::Device(slice))
    }

    /// A column that is computed when it is read.
    pub(crate) fn later(len: usize, values: impl FnOnce() -> Vec<T> + Send + 'static) -> Self {
        Self::new(ColumnStorage::Later(len, Arc::new(LazyLock::new(Box::new(values)))))
    }

    /// Whether all values are zero because none was ever set.
    pub(crate) const fn is_untouched(&self) -> bool {
        matches!(self.place, ColumnStorage::Zeros(_))
    }

    /// Its values if they are on the host only.
    ///
    /// They are copied when a batch of columns is put together.
    pub(crate) fn host(&self) -> Option<&[T]> {
        match &self.place {
            ColumnStorage::Host(values) if self.copied.get().is_none() => Some(values),
            _ => None,
        }
    }

    /// Its place on the device, where it is copied to if it is not there.
    pub(crate) fn slice(&self) -> Slice<T::Device> {
        let upload = |values: &[T]| done(queue().upload(&T::to_device(values)));
        match &self.place {
            ColumnStorage::Device(slice) => slice.clone(),
            other => self
                .copied
                .get_or_init(|| {
                    let buf = match other {
                        ColumnStorage::Host(values) => upload(values),
                        ColumnStorage::Later(_, values) => upload(values),
                        ColumnStorage::Zeros(_) | ColumnStorage::Device(_) => done(queue().zeros(self.len())),
                    };
                    Slice::all(DeviceArena::new(buf, ArenaContents::Other))
                })
                .clone(),
        }
    }

    /// [`slice`](Self::slice), without keeping the column.
    pub(crate) fn into_slice(self) -> Slice<T::Device> {
        match self.place {
            ColumnStorage::Device(slice) => slice,
            _ => self.slice(),
        }
    }

    /// The values, on the host from now on.
    fn host_mut(&mut self) -> &mut Vec<T> {
        if !matches!(self.place, ColumnStorage::Host(_)) {
            self.place = ColumnStorage::Host(self.to_cpu());
        }
        self.copied = OnceLock::new();
        match &mut self.place {
            ColumnStorage::Host(values) => values,
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
        Self::new(ColumnStorage::Host(values))
    }
}

impl<T: Value> Column<T> for DeviceColumn<T> {
    fn zeros(len: usize) -> Self {
        Self::new(ColumnStorage::Zeros(len))
    }

    /// A column of zeros: nothing here is ever uninitialized.
    #[expect(unsafe_code, reason = "the trait has it so; any caller's promise is good enough")]
    unsafe fn uninitialized(len: usize) -> Self {
        Self::zeros(len)
    }

    fn to_cpu(&self) -> Vec<T> {
        match &self.place {
            ColumnStorage::Zeros(len) => vec![T::default(); *len],
            ColumnStorage::Host(values) => values.clone(),
            ColumnStorage::Later(_, values) => values.to_vec(),
            ColumnStorage::Device(slice) => slice.to_host().into_iter().map(T::from_device).collect(),
        }
    }

    fn len(&self) -> usize {
        match &self.place {
            ColumnStorage::Zeros(len) | ColumnStorage::Later(len, _) => *len,
            ColumnStorage::Host(values) => values.len(),
            ColumnStorage::Device(slice) => slice.len,
        }
    }

    fn at(&self, index: usize) -> T {
        match &self.place {
            ColumnStorage::Zeros(len) => {
                assert!(index < *len, "index {index} of a column of {len}");
                T::default()
            }
            ColumnStorage::Host(values) => values[index],
            ColumnStorage::Later(_, values) => values[index],
            ColumnStorage::Device(slice) => T::from_device(slice.at(index)),
        }
    }

    fn set(&mut self, index: usize, value: T) {
        self.host_mut()[index] = value;
    }

    fn split_at_mid(self) -> (Self, Self) {
        match self.place {
            ColumnStorage::Zeros(len) => (Self::zeros(len / 2), Self::zeros(len - len / 2)),
            ColumnStorage::Device(slice) => {
                let (left, right) = slice.halves();
                (Self::on_device(left), Self::on_device(right))
            }
            ColumnStorage::Host(_) | ColumnStorage::Later(..) => {
                let mut left = self.to_cpu();
                let right = left.split_off(left.len() / 2);
                (left.into(), right.into())
            }
        }
    }
}

impl<T: Value> ColumnOps<T> for TrefoilBackend {
    type Column = DeviceColumn<T>;

    /// It is done on the host: traces come from there.
    fn bit_reverse_column(column: &mut Self::Column) {
        bit_reverse(column.host_mut());
    }
}

/// Columns in one arena, and where each begins: where they are, or copied together.
pub(crate) fn together(columns: &[Slice<M31>]) -> (Arc<DeviceArena<M31>>, Vec<u64>) {
    if let [first, rest @ ..] = columns
        && rest.iter().all(|column| Arc::ptr_eq(&first.arena, &column.arena))
    {
        return (first.arena.clone(), columns.iter().map(|column| column.start as u64).collect());
    }
    let starts = columns.iter().scan(0, |end, column| {
        *end += column.len;
        Some((*end - column.len) as u64)
    });
    (DeviceArena::new(Slice::copied(columns), ArenaContents::Other), starts.collect())
}
