//! Device memory that columns have in common.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock},
};

use backend_api::{Buffer, BufferRef as _, Element, Queue as _};
use core_types::{field::M31, params::columns::ColumnAt};
use runtime::{AnyBuf, AnyRef};

use super::{
    folds::Folds,
    known::{KnownElements, Samples},
};
use crate::device::{done, queue};

/// The contents of an arena, as far as they help to predict reads.
#[derive(Debug)]
pub(crate) enum ArenaContents {
    /// Columns of a commitment.
    Columns(Vec<ColumnAt>),
    /// Four planes of one column of the secure field.
    Planes(Arc<Folds>),
    /// All nodes of a Merkle tree.
    ///
    /// Its leaves are `lifted` from the positions of queries, or are groups of leaves of a layer of
    /// FRI.
    Nodes {
        /// Log of the number of leaves.
        log_leaves: u32,
        /// The layer of FRI that the tree is of, and the log of how many of its values make a leaf.
        layer: Option<(Arc<Folds>, u32)>,
    },
    /// Anything else.
    Other,
}

/// Device memory that is written once and then shared by the columns in it.
pub struct DeviceArena<D: Element> {
    pub(crate) buf: AnyBuf<D>,
    form: ArenaContents,
    pub(crate) known: Mutex<KnownElements<D>>,
    /// The coefficients of the four planes in `buf`.
    ///
    /// They come with the log of the domain that they were interpolated on.
    interpolated: OnceLock<(u32, Arc<DeviceArena<M31>>)>,
    /// Values at points outside the domain.
    pub(crate) samples: Mutex<Samples>,
}

impl<D: Element> fmt::Debug for DeviceArena<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceArena").field("len", &self.len()).field("form", &self.form).finish_non_exhaustive()
    }
}

impl<D: Element> DeviceArena<D> {
    pub(crate) fn new(buf: AnyBuf<D>, form: ArenaContents) -> Arc<Self> {
        Arc::new(Self { buf, form, known: Mutex::default(), interpolated: OnceLock::new(), samples: Mutex::default() })
    }

    pub(crate) fn len(&self) -> usize {
        self.buf.len()
    }

    pub(crate) fn view(&self) -> AnyRef<'_, D> {
        self.buf.view()
    }

    pub(crate) const fn form(&self) -> &ArenaContents {
        &self.form
    }

    /// The coefficients of the planes in the arena.
    ///
    /// `make` computes them once for the domain of `2^log_domain` points.
    pub(crate) fn interpolated(
        &self,
        log_domain: u32,
        make: impl Fn() -> Arc<DeviceArena<M31>>,
    ) -> Arc<DeviceArena<M31>> {
        let (known, arena) = self.interpolated.get_or_init(|| (log_domain, make()));
        if *known == log_domain { arena.clone() } else { make() }
    }
}

/// A column of an arena: each `stride`-th element.
#[derive(Clone, Debug)]
pub(crate) struct Slice<D: Element> {
    pub(crate) arena: Arc<DeviceArena<D>>,
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) stride: usize,
}

impl<D: Element> Slice<D> {
    pub(crate) const fn new(arena: Arc<DeviceArena<D>>, start: usize, len: usize) -> Self {
        Self { arena, start, len, stride: 1 }
    }

    /// All of an arena.
    pub(crate) fn all(arena: Arc<DeviceArena<D>>) -> Self {
        let len = arena.len();
        Self::new(arena, 0, len)
    }

    /// Its elements, which follow each other.
    pub(crate) fn view(&self) -> AnyRef<'_, D> {
        assert_eq!(self.stride, 1, "trefoil: columns of packed leaves are hashed, and nothing else");
        done(self.arena.view().slice(self.start..self.start + self.len))
    }

    /// Whether `next` begins where this ends.
    pub(crate) fn is_followed_by(&self, next: &Self) -> bool {
        Arc::ptr_eq(&self.arena, &next.arena)
            && self.stride == 1
            && next.stride == 1
            && self.start + self.len == next.start
    }

    /// Both halves.
    pub(crate) fn halves(self) -> (Self, Self) {
        let len = self.len / 2;
        let start = self.start + len * self.stride;
        (Self { len, ..self.clone() }, Self { start, len: self.len - len, ..self })
    }

    /// All slices as one, if each begins where the last ends.
    fn joined(slices: &[Self]) -> Option<Self> {
        let follow = slices.windows(2).all(|pair| pair[0].is_followed_by(&pair[1]));
        let first = slices.first().filter(|_| follow)?;
        Some(Self { len: slices.iter().map(|slice| slice.len).sum(), ..first.clone() })
    }

    /// A copy of the slices, one after the other.
    pub(crate) fn copied(slices: &[Self]) -> AnyBuf<D> {
        let mut buf = done(queue().alloc(slices.iter().map(|slice| slice.len).sum()));
        let mut first = 0;
        for slice in slices {
            let end = first + slice.len;
            done(queue().copy(slice.view(), done(buf.slice_mut(first..end))));
            first = end;
        }
        buf
    }

    /// All slices as one.
    ///
    /// It is where they are if they follow each other, else a copy in an arena of `form`.
    pub(crate) fn in_one_piece(slices: &[Self], form: ArenaContents) -> Self {
        Self::joined(slices).unwrap_or_else(|| Self::all(DeviceArena::new(Self::copied(slices), form)))
    }

    /// A buffer of the slices, to be changed.
    ///
    /// It is their arena's own if they are all of it in order and nothing else refers to it, else a
    /// copy.
    pub(crate) fn into_buf(mut slices: Vec<Self>) -> AnyBuf<D> {
        if let Some(whole) = Self::joined(&slices)
            && whole.len == whole.arena.len()
            && Arc::strong_count(&whole.arena) == slices.len() + 1
        {
            slices.clear();
            match Arc::try_unwrap(whole.arena) {
                Ok(arena) => return arena.buf,
                // Someone made another reference since they were counted.
                Err(arena) => slices.push(Self::all(arena)),
            }
        }
        Self::copied(&slices)
    }
}
