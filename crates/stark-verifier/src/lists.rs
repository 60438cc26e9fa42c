//! Lists of a proof by tree, layer and column.
//!
//! They are read within the sizes that a valid proof can have. A list of no values takes one or two
//! bytes of a file and tens of bytes of memory, so both the number of lists and the number of bytes
//! are limited.

use alloc::vec::Vec;
use core::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, SeqAccess, Visitor},
};

/// The most trees of a proof.
const MAX_TREES: usize = 64;
/// The most columns of all trees.
const MAX_COLUMNS: usize = 1 << 20;

/// Reads `[tree][column][value]`.
pub(crate) fn by_column<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<Vec<Vec<T>>>, D::Error> {
    from.deserialize_seq(Trees(PhantomData))
}

struct Trees<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Trees<T> {
    type Value = Vec<Vec<Vec<T>>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX_TREES} trees")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let (mut trees, mut left) = (Vec::new(), MAX_COLUMNS);
        while let Some(columns) = seq.next_element_seed(ColumnListVisitor { left: &mut left, of: PhantomData })? {
            if trees.len() == MAX_TREES {
                return Err(A::Error::custom(format_args!("expected at most {MAX_TREES} trees")));
            }
            trees.push(columns);
        }
        Ok(trees)
    }
}

struct ColumnListVisitor<'l, T> {
    left: &'l mut usize,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for ColumnListVisitor<'_, T> {
    type Value = Vec<Vec<T>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ColumnListVisitor<'_, T> {
    type Value = Vec<Vec<T>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of columns")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut columns = Vec::new();
        while let Some(column) = seq.next_element()? {
            let Some(left) = self.left.checked_sub(1) else {
                return Err(A::Error::custom(format_args!("expected at most {MAX_COLUMNS} columns")));
            };
            *self.left = left;
            columns.push(column);
        }
        Ok(columns)
    }
}

/// Reads what there is one of for each tree or layer.
pub(crate) fn by_tree<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(Each(PhantomData))
}

struct Each<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list for at most {MAX_TREES} trees")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element()? {
            if list.len() == MAX_TREES {
                return Err(A::Error::custom(format_args!("expected at most {MAX_TREES} trees")));
            }
            list.push(item);
        }
        Ok(list)
    }
}
