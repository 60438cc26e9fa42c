//! Device memory that columns have in common.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock},
};

use backend_api::{Buffer, BufferRef as _, Element};
use core_types::{field::M31, params::columns::ColumnAt};
use runtime::{AnyBuf, AnyRef};

use super::{
    folds::Folds,
    known::{KnownElements, Samples},
};
use crate::device::done;

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
pub(crate) struct Slice<D: Element> {
    pub(crate) arena: Arc<DeviceArena<D>>,
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) stride: usize,
}

impl<D: Element> Clone for Slice<D> {
    fn clone(&self) -> Self {
        Self { arena: self.arena.clone(), start: self.start, len: self.len, stride: self.stride }
    }
}

impl<D: Element> fmt::Debug for Slice<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slice")
            .field("arena", &self.arena)
            .field("start", &self.start)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
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

    /// The buffer of an arena, or the slices if it is shared or not covered.
    ///
    /// The slices must be all of its elements in order, and nothing else may refer to the buffer.
    pub(crate) fn reclaim(mut slices: Vec<Self>) -> Result<AnyBuf<D>, Vec<Self>> {
        let Some(first) = slices.first() else { return Err(slices) };
        let arena = first.arena.clone();
        let follow = slices.windows(2).all(|pair| pair[0].is_followed_by(&pair[1]));
        let whole = first.start == 0 && slices.iter().map(|slice| slice.len).sum::<usize>() == arena.len();
        if !follow || !whole || Arc::strong_count(&arena) != slices.len() + 1 {
            return Err(slices);
        }
        slices.clear();
        match Arc::try_unwrap(arena) {
            Ok(arena) => Ok(arena.buf),
            // Someone made another reference since they were counted.
            Err(arena) => Err(vec![Self::all(arena)]),
        }
    }
}
