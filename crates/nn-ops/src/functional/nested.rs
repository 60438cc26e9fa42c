//! Arrays of arrays as the values of a tensor.

use backend_api::Element;
use half::{bf16, f16};

/// The values of a tensor as an array of arrays, or as one number for a tensor without axes.
///
/// All rows of such an array have one length, so that it always has a shape.
pub trait Nested {
    /// The type of the numbers.
    type Element: Element;

    /// Appends the length of each axis, outermost first.
    fn push_lengths(lengths: &mut Vec<usize>);

    /// Appends the elements in row-major order.
    fn push_elements(self, elements: &mut Vec<Self::Element>);
}

impl<N: Nested, const LEN: usize> Nested for [N; LEN] {
    type Element = N::Element;

    fn push_lengths(lengths: &mut Vec<usize>) {
        lengths.push(LEN);
        N::push_lengths(lengths);
    }

    fn push_elements(self, elements: &mut Vec<N::Element>) {
        self.into_iter().for_each(|part| part.push_elements(elements));
    }
}

/// Implements [`Nested`] for single numbers.
macro_rules! numbers {
    ($($number:ty),*) => {
        $(
            impl Nested for $number {
                type Element = Self;

                fn push_lengths(_: &mut Vec<usize>) {}

                fn push_elements(self, elements: &mut Vec<Self>) {
                    elements.push(self);
                }
            }
        )*
    };
}

numbers!(f32, f16, bf16, u32, bool);

#[cfg(test)]
mod tests {
    use super::*;

    fn flat<N: Nested>(values: N) -> (Vec<usize>, Vec<N::Element>) {
        let (mut lengths, mut elements) = (Vec::new(), Vec::new());
        N::push_lengths(&mut lengths);
        values.push_elements(&mut elements);
        (lengths, elements)
    }

    #[test]
    fn arrays_give_their_shape_and_their_elements_in_order() {
        assert_eq!(flat(2.5f32), (vec![], vec![2.5]));
        assert_eq!(flat([1u32, 2, 3]), (vec![3], vec![1, 2, 3]));
        assert_eq!(flat([[[true], [false]]]), (vec![1, 2, 1], vec![true, false]));
        assert_eq!(flat([[f16::ONE; 2]; 0]), (vec![0, 2], vec![]));
    }
}
