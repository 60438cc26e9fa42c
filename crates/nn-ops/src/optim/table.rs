//! The layout of a model's tensors in one buffer.

use core::ops::Range;
use std::{collections::BTreeMap, sync::Arc};

use crate::{
    error::{NnError, Result},
    tensor::Layout,
};

const OP: &str = "parameter_table";

/// Alignment of tensors in elements.
///
/// Every device then reads them in whole lines of its memory.
const ALIGN: usize = 64;

/// A tensor of a model: its name, its shape, and whether it decays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSpec {
    name: String,
    shape: Vec<usize>,
    decays: bool,
}

impl ParameterSpec {
    /// A tensor that decays, if the optimizer makes weights decay.
    #[must_use]
    pub fn new(name: impl Into<String>, shape: &[usize]) -> Self {
        Self { name: name.into(), shape: shape.to_vec(), decays: true }
    }

    /// One that does not, as is usual for biases and the factors of norms.
    #[must_use]
    pub fn without_decay(self) -> Self {
        Self { decays: false, ..self }
    }
}

/// The index of a tensor in a [`ParameterTable`], in the order of its specifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterId(usize);

/// Names and shapes of the tensors of a model, and the place of each in one buffer.
///
/// Those that decay come first, so that a step of an optimizer tells them apart by their place.
/// Elements between tensors belong to none; they begin as zeros and stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterTable {
    entries: Vec<ParameterEntry>,
    by_name: BTreeMap<String, usize>,
    decayed: usize,
    len: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ParameterEntry {
    name: String,
    layout: Layout,
    range: Range<usize>,
}

impl ParameterTable {
    /// Places `tensors`, which are then known by their order.
    ///
    /// # Errors
    /// [`NnError::DuplicateTensor`] if two have one name; [`NnError::NamedTensor`] if no tensor has
    /// the shape; [`NnError::Overflow`] if all together cannot be addressed.
    pub fn new(tensors: &[ParameterSpec]) -> Result<Arc<Self>> {
        let mut entries = Vec::with_capacity(tensors.len());
        let mut by_name = BTreeMap::new();
        for (id, spec) in tensors.iter().enumerate() {
            if by_name.insert(spec.name.clone(), id).is_some() {
                return Err(NnError::DuplicateTensor { name: spec.name.clone() });
            }
            let layout = Layout::contiguous(&spec.shape).map_err(|reason| NnError::named(&*spec.name, reason))?;
            entries.push(ParameterEntry { name: spec.name.clone(), layout, range: 0..0 });
        }
        // Tensors that decay come first.
        let mut place = |decays: bool, mut len: usize| {
            for (entry, _) in entries.iter_mut().zip(tensors).filter(|(_, spec)| spec.decays == decays) {
                let overflow = NnError::Overflow { op: OP };
                let end = len.checked_add(entry.layout.numel()).ok_or(overflow.clone())?;
                entry.range = len..end;
                len = end.checked_next_multiple_of(ALIGN).ok_or(overflow)?;
            }
            Ok::<_, NnError>(len)
        };
        let decayed = place(true, 0)?;
        let len = place(false, decayed)?;
        Ok(Arc::new(Self { entries, by_name, decayed, len }))
    }

    /// The tensor called `name`.
    ///
    /// # Errors
    /// [`NnError::MissingTensor`] if there is none.
    pub fn id(&self, name: &str) -> Result<ParameterId> {
        let id = self.by_name.get(name).copied().map(ParameterId);
        id.ok_or_else(|| NnError::MissingTensor { name: name.to_owned() })
    }

    /// All tensors, in the order in which they were given.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = ParameterId> + use<> {
        (0..self.entries.len()).map(ParameterId)
    }

    /// The name of a tensor.
    ///
    /// # Errors
    /// [`NnError::Axis`] for an id of another table that this one does not have.
    pub fn name(&self, id: ParameterId) -> Result<&str> {
        Ok(&self.entry(id)?.name)
    }

    /// The layout of a tensor, which is row-major.
    ///
    /// # Errors
    /// As [`name`](Self::name).
    pub fn layout(&self, id: ParameterId) -> Result<&Layout> {
        Ok(&self.entry(id)?.layout)
    }

    /// The elements of a tensor in the buffer.
    pub(super) fn range(&self, id: ParameterId) -> Result<Range<usize>> {
        Ok(self.entry(id)?.range.clone())
    }

    /// Elements of the buffer, those between tensors included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no tensor has an element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of elements that decay: the first ones.
    #[must_use]
    pub fn decayed(&self) -> usize {
        self.decayed
    }

    fn entry(&self, id: ParameterId) -> Result<&ParameterEntry> {
        let missing = NnError::Axis { op: OP, rank: self.entries.len(), axis: id.0 };
        self.entries.get(id.0).ok_or(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_that_decay_come_first_and_each_begins_at_a_line() {
        let table = ParameterTable::new(&[
            ParameterSpec::new("bias", &[10]).without_decay(),
            ParameterSpec::new("weight", &[7, 10]),
            ParameterSpec::new("empty", &[0, 3]),
            ParameterSpec::new("gain", &[]).without_decay(),
        ])
        .unwrap();
        let range = |name: &str| table.range(table.id(name).unwrap()).unwrap();
        assert_eq!((range("weight"), range("empty")), (0..70, 128..128));
        assert_eq!((table.decayed(), range("bias"), range("gain")), (128, 128..138, 192..193));
        assert_eq!((table.len(), table.is_empty()), (256, false));
        let names: Vec<_> = table.ids().map(|id| table.name(id).unwrap()).collect();
        assert_eq!(names, ["bias", "weight", "empty", "gain"]);
        assert_eq!(table.layout(table.id("weight").unwrap()).unwrap().shape(), [7, 10]);
    }

    #[test]
    fn what_makes_no_table_is_refused_by_name() {
        let refused = |tensors: &[ParameterSpec]| ParameterTable::new(tensors).unwrap_err();
        let twice = refused(&[ParameterSpec::new("a", &[1]), ParameterSpec::new("a", &[2])]);
        assert_eq!(twice.to_string(), "there are two tensors `a`");
        let great = refused(&[ParameterSpec::new("a", &[usize::MAX, 2])]);
        assert!(matches!(great, NnError::NamedTensor { ref name, .. } if name == "a"), "{great}");
        let most = usize::MAX / 16;
        let all: Vec<_> = (0..17).map(|i| ParameterSpec::new(format!("{i}"), &[most])).collect();
        let overflow = refused(&all);
        assert!(matches!(overflow, NnError::Overflow { .. } | NnError::NamedTensor { .. }), "{overflow}");
        let table = ParameterTable::new(&[ParameterSpec::new("a", &[1])]).unwrap();
        assert_eq!(table.id("b").unwrap_err().to_string(), "there is no tensor `b`");
        assert!(matches!(table.name(ParameterId(1)), Err(NnError::Axis { rank: 1, axis: 1, .. })));
    }
}
