//! The sizes of the columns of a set, and where each lies in the buffer.

use core::{fmt, ops::Range, slice};

use backend_api::BackendError;

use crate::{CanonicDomain, FftError, domain::column_count};

/// The columns of one size in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    domain: CanonicDomain,
    count: u32,
    first_column: usize,
    first_element: usize,
}

impl Group {
    /// The domain of the columns.
    #[must_use]
    pub fn domain(&self) -> CanonicDomain {
        self.domain
    }

    /// Number of columns, at least 1.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// The columns by their numbers in the set.
    #[must_use]
    pub fn columns(&self) -> Range<usize> {
        self.first_column..self.first_column + self.count()
    }

    /// Where the elements of all columns lie in the set's buffer, one column after the other.
    #[must_use]
    pub fn elements(&self) -> Range<usize> {
        self.first_element..self.first_element + self.len()
    }

    /// Number of elements of all columns.
    pub(crate) fn len(&self) -> usize {
        self.count() << self.domain.log_size() // counted when the shape was made
    }

    /// `count` columns of `domain` that are a whole set.
    pub(crate) const fn alone(domain: CanonicDomain, count: u32) -> Self {
        Self { domain, count, first_column: 0, first_element: 0 }
    }

    /// Number of columns, as a launch record has it.
    pub(crate) const fn columns_in_record(&self) -> u32 {
        self.count
    }
}

/// The sizes of the columns in a view.
#[derive(Clone, Copy)]
pub(crate) enum ColumnSizes<'a> {
    /// One size, of any number of columns.
    One(Group),
    /// All sizes of a shape.
    All(&'a [Group]),
}

impl ColumnSizes<'_> {
    /// The columns of each size, the biggest size first.
    pub(crate) fn groups(&self) -> &[Group] {
        match self {
            Self::One(group) if group.count == 0 => &[],
            Self::One(group) => slice::from_ref(group),
            Self::All(groups) => groups,
        }
    }
}

/// The sizes of the columns of a set.
///
/// Groups of equal size, the biggest first, follow each other in one buffer.
///
/// ```
/// use stark_fft::{CanonicDomain, SetShape};
///
/// let shape = SetShape::new(&[(CanonicDomain::new(5)?, 2), (CanonicDomain::new(3)?, 4)])?;
/// assert_eq!((shape.count(), shape.len()), (6, 2 * 32 + 4 * 8));
/// assert_eq!((shape.groups()[1].columns(), shape.groups()[1].elements()), (2..6, 64..96));
/// assert_eq!(shape.extended(1)?.to_string(), "2 x 2^6 + 4 x 2^4");
/// # Ok::<(), stark_fft::FftError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetShape {
    groups: Vec<Group>,
}

impl SetShape {
    /// The shape of `sizes`, the number of columns on each domain.
    ///
    /// Sizes without columns are left out.
    ///
    /// # Errors
    /// [`FftError::GroupOrder`] unless each domain is smaller than the one before it,
    /// [`FftError::TooManyColumns`] if the address space does not hold the elements, or a group has
    /// more than 2^32 - 1 columns.
    pub fn new(sizes: &[(CanonicDomain, usize)]) -> Result<Self, FftError> {
        let mut shape = Self { groups: Vec::with_capacity(sizes.len()) };
        for (group, pair) in sizes.windows(2).enumerate() {
            let [before, log_size] = [pair[0].0, pair[1].0].map(CanonicDomain::log_size);
            if log_size >= before {
                return Err(FftError::GroupOrder { group: group + 1, log_size, before });
            }
        }
        for &(domain, count) in sizes.iter().filter(|&&(_, count)| count > 0) {
            let group = Group {
                domain,
                count: column_count(domain, count)?,
                first_column: shape.count(),
                first_element: shape.len(),
            };
            if group.first_element.checked_add(group.len()).is_none() {
                return Err(FftError::TooManyColumns { got: count, log_size: domain.log_size() });
            }
            shape.groups.push(group);
        }
        Ok(shape)
    }

    /// The shape of these groups, which are a whole set.
    pub(crate) fn of(groups: &[Group]) -> Self {
        Self { groups: groups.to_vec() }
    }

    /// The groups, the biggest size first.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Number of columns.
    #[must_use]
    pub fn count(&self) -> usize {
        self.groups.last().map_or(0, |group| group.columns().end)
    }

    /// Number of elements of all columns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.last().map_or(0, |group| group.elements().end)
    }

    /// Whether there are no columns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The biggest domain; `None` without columns.
    ///
    /// A [`TwiddleTree`](crate::TwiddleTree) for it serves the whole set.
    #[must_use]
    pub fn domain(&self) -> Option<CanonicDomain> {
        self.groups.first().map(Group::domain)
    }

    /// The shape with every domain `2^log_blowup` times as big.
    ///
    /// # Errors
    /// [`FftError::LogSize`] if there is no domain that big, [`FftError::TooManyColumns`] as
    /// [`new`](Self::new).
    pub fn extended(&self, log_blowup: u32) -> Result<Self, FftError> {
        let bigger = |group: &Group| {
            let log_size = group.domain.log_size().saturating_add(log_blowup);
            Ok((CanonicDomain::new(log_size)?, group.count()))
        };
        Self::new(&self.groups.iter().map(bigger).collect::<Result<Vec<_>, FftError>>()?)
    }
}

impl fmt::Display for SetShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no columns");
        }
        for (i, group) in self.groups.iter().enumerate() {
            let plus = if i == 0 { "" } else { " + " };
            write!(f, "{plus}{} x 2^{}", group.count, group.domain.log_size())?;
        }
        Ok(())
    }
}

/// Refuses columns of other sizes than expected.
pub(crate) fn check_sizes(expected: &[Group], got: &[Group]) -> Result<(), FftError> {
    match (expected, got) {
        _ if expected == got => Ok(()),
        ([expected], [got]) => Err(FftError::Shape {
            expected_log: expected.domain.log_size(),
            expected_columns: expected.count(),
            got_log: got.domain.log_size(),
            got_columns: got.count(),
        }),
        _ => {
            let [expected, got] = [expected, got].map(|groups| SetShape::of(groups).to_string());
            Err(FftError::SetShape { expected, got })
        }
    }
}

/// Refuses another number of elements than a shape has.
pub(crate) fn check_len(shape: &SetShape, got: usize) -> Result<(), FftError> {
    if got == shape.len() { Ok(()) } else { Err(FftError::SetLength { expected: shape.len(), got }) }
}

/// Cuts the columns `range` where the size changes.
///
/// Each part has the place of its elements among all groups.
pub(crate) fn cut(groups: &[Group], range: Range<usize>) -> Result<Vec<(Range<usize>, Group)>, FftError> {
    let len = groups.last().map_or(0, |group| group.columns().end);
    if range.start > range.end || range.end > len {
        return Err(BackendError::OutOfRange { start: range.start, end: range.end, len }.into());
    }
    let mut parts = Vec::new();
    for group in groups {
        let columns = group.columns();
        let (start, end) = (range.start.max(columns.start), range.end.min(columns.end));
        if start < end {
            let at = |column: usize| group.first_element + ((column - columns.start) << group.domain.log_size());
            let count = (end - start) as u32; // at most the group's
            parts.push((at(start)..at(end), Group::alone(group.domain, count)));
        }
    }
    Ok(parts)
}
