//! Batch inversion by running products: three products per element and one inversion per chunk.

use core_types::field::Field;

use crate::{
    Simd,
    simd::{Kernel, dispatch},
};

/// Independent running products: none waits for another's multiplication, and compilers put neighbours into one vector.
const CHAINS: usize = 32;

/// Elements of one chunk, inverted at once.
pub(super) const CHUNK: usize = 1 << 12;

/// Writes the inverses of `elements`, at most one chunk, and says whether every element has one; if not, what it wrote
/// means nothing.
pub(super) fn invert_chunk<F: Field>(simd: Simd, elements: &[F], inverses: &mut [F]) -> bool {
    dispatch(simd, Inversion { elements, inverses })
}

struct Inversion<'a, F> {
    elements: &'a [F],
    inverses: &'a mut [F],
}

impl<F: Field, L> Kernel<L> for Inversion<'_, F> {
    type Out = bool;

    /// Ignores the lanes: only what the enclosing function is compiled for matters.
    #[inline(always)]
    fn run(self, _: L) -> bool {
        let (rows, tail) = self.elements.as_chunks::<CHAINS>();
        let (inverse_rows, inverse_tail) = self.inverses.as_chunks_mut::<CHAINS>();
        // First each element's place takes the product of all before it in its chain.
        let mut product = [F::ONE; CHAINS];
        for (row, prefix) in rows.iter().zip(&mut *inverse_rows) {
            *prefix = product;
            for (p, &x) in product.iter_mut().zip(row) {
                *p = *p * x;
            }
        }
        let Some(mut inverse) = invert_in_tree(product) else { return false };
        for (row, prefix) in rows.iter().zip(inverse_rows).rev() {
            for ((i, &x), p) in inverse.iter_mut().zip(row).zip(prefix) {
                *p = *p * *i;
                *i = *i * x;
            }
        }
        invert_serially(tail, inverse_tail)
    }
}

/// The inverses of all leaves, with a tree of products and one inversion; `None` if a leaf has no inverse. Products in
/// one layer of the tree do not wait for each other.
#[inline(always)]
fn invert_in_tree<F: Field>(leaves: [F; CHAINS]) -> Option<[F; CHAINS]> {
    // Layer `w` are the nodes `w .. 2 w`, each the product of the node below it and of the one `w` further on.
    let mut nodes = [F::ONE; 2 * CHAINS];
    nodes[CHAINS..].copy_from_slice(&leaves);
    for log in (0..CHAINS.ilog2()).rev() {
        let w = 1 << log;
        let (layer, below) = nodes[w..4 * w].split_at_mut(w);
        let (left, right) = below.split_at(w);
        for (node, (&l, &r)) in layer.iter_mut().zip(left.iter().zip(right)) {
            *node = l * r;
        }
    }
    nodes[1] = nodes[1].inverse()?;
    for log in 0..CHAINS.ilog2() {
        let w = 1 << log;
        let (layer, below) = nodes[w..4 * w].split_at_mut(w);
        let (left, right) = below.split_at_mut(w);
        for (&node, (l, r)) in layer.iter().zip(left.iter_mut().zip(right)) {
            (*l, *r) = (node * *r, node * *l);
        }
    }
    let mut inverses = [F::ZERO; CHAINS];
    inverses.copy_from_slice(&nodes[CHAINS..]);
    Some(inverses)
}

/// Writes the inverses of `elements` with one running product, and says whether every element has one.
#[inline(always)]
fn invert_serially<F: Field>(elements: &[F], inverses: &mut [F]) -> bool {
    let mut product = F::ONE;
    for (&x, prefix) in elements.iter().zip(&mut *inverses) {
        *prefix = product;
        product = product * x;
    }
    let Some(mut inverse) = product.inverse() else { return false };
    for (&x, prefix) in elements.iter().zip(inverses).rev() {
        *prefix = *prefix * inverse;
        inverse = inverse * x;
    }
    true
}

/// The index of the first zero.
pub(super) fn first_zero<F: Field>(elements: &[F]) -> Option<usize> {
    elements.iter().position(|&x| x == F::ZERO)
}
