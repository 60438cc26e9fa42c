//! Lists of what iterators yield.
//!
//! `collect` is compiled for every closure, and the suite has hundreds. The loop below is
//! compiled once for each type of elements.

/// An iterator that ends in a list.
pub(crate) trait ListIterator: Iterator + Sized {
    /// Everything that the iterator yields, in order.
    fn list(mut self) -> Vec<Self::Item> {
        listed(&mut self)
    }
}

impl<I: Iterator> ListIterator for I {}

/// The next element alone: a `dyn Iterator` has more methods, compiled for each closure.
trait NextElement<T> {
    fn next_element(&mut self) -> Option<T>;
}

impl<I: Iterator> NextElement<I::Item> for I {
    fn next_element(&mut self) -> Option<I::Item> {
        self.next()
    }
}

fn listed<T>(elements: &mut dyn NextElement<T>) -> Vec<T> {
    let mut list = Vec::new();
    while let Some(element) = elements.next_element() {
        list.push(element);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_what_an_iterator_yields_in_order() {
        assert_eq!((0..5).map(|i| i * i).list(), [0, 1, 4, 9, 16]);
        assert_eq!([1, 0, 2].iter().flat_map(|&n| vec![n; n]).list(), [1, 2, 2]);
        assert!((0..0).list().is_empty());
    }
}
