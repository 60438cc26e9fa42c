//! Products of two secret matrices, using a dealer's triple for whole matrices.
//!
//! The product of `rows x inner` and `inner x cols` opens `rows inner + inner cols` masked words,
//! instead of two for each of its `rows inner cols` scalar products (Mohassel, Zhang, IEEE S&P
//! 2017).

mod codec;
mod run;
mod shape;

use core::fmt;

use core_types::Ring;
use zeroize::Zeroizing;

pub use shape::MatrixShape;

use crate::{BundleError, Dealer, Party};

/// The ring of all matrices.
const RING: Ring = match Ring::new(64) {
    Some(ring) => ring,
    None => unreachable!(),
};

/// One party's shares of uniform matrices `A`, `B` and of `A B`.
///
/// They are in the ring of 64 bits, for one batch of products.
///
/// A triple is used once, like a [`KeyBundle`](crate::KeyBundle): multiplying takes it by value,
/// and the process refuses its nonce a second time. `Debug` shows public facts only; the shares are
/// wiped when dropped.
///
/// ```
/// use pfss::{Dealer, MatrixShape, Session, memory_pair};
///
/// // Party 1 owns the weights, party 0 the input: the other's share is zero, and yet nobody learns anything.
/// let shape = MatrixShape { batch: 1, rows: 1, inner: 2, cols: 2 };
/// let [zero, one] = Dealer::from_os()?.deal_matrix(shape)?;
/// let (to_one, to_zero) = memory_pair(std::time::Duration::from_secs(10));
/// let (q, server_q) = (runtime::cpu()?, runtime::cpu()?);
/// let server = std::thread::spawn(move || {
///     Session::new(to_zero).matmul(&server_q, one, [&[0, 0], &[1, 2, 3, 4]])
/// });
/// let mine = Session::new(to_one).matmul(&q, zero, [&[5, 6], &[0; 4]])?;
/// let theirs = server.join().map_err(|_| "the thread ends")??;
/// assert_eq!([0, 1].map(|j| mine[j].wrapping_add(theirs[j])), [5 + 6 * 3, 5 * 2 + 6 * 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MatrixTriple {
    party: Party,
    shape: MatrixShape,
    nonce: [u8; 16],
    /// `[A]`, `[batch][rows][inner]`.
    a: Zeroizing<Vec<u64>>,
    /// `[B]`, `[batch][inner][cols]`.
    b: Zeroizing<Vec<u64>>,
    /// `[A B]`, `[batch][rows][cols]`.
    c: Zeroizing<Vec<u64>>,
    /// Whether the process accepts the triple even when it is spent.
    reusable: bool,
}

impl MatrixTriple {
    /// The party whose shares these are.
    #[must_use]
    pub fn party(&self) -> Party {
        self.party
    }

    /// The matrices that can be multiplied.
    #[must_use]
    pub fn shape(&self) -> MatrixShape {
        self.shape
    }

    /// The public nonce, equal in both parties' triples and different for every deal.
    #[must_use]
    pub fn nonce(&self) -> [u8; 16] {
        self.nonce
    }
}

impl Dealer {
    /// A triple for one batch of products, for party 0 and party 1.
    ///
    /// # Errors
    /// [`BundleError::Overflow`] if the matrices do not fit the address space.
    pub fn deal_matrix(&mut self, shape: MatrixShape) -> Result<[MatrixTriple; 2], BundleError> {
        let [left, right, out] = shape.checked_lens()?;
        let nonce = self.nonce();
        let [a0, a1] = [self.uniform(RING, left), self.uniform(RING, left)];
        let [b0, b1] = [self.uniform(RING, right), self.uniform(RING, right)];
        let c0 = self.uniform(RING, out);
        let sum = |x: &[u64], y: &[u64]| -> Zeroizing<Vec<u64>> {
            Zeroizing::new(x.iter().zip(y).map(|(x, y)| x.wrapping_add(*y)).collect())
        };
        let mut c1 = Zeroizing::new(shape.multiply(&sum(&a0, &a1), &sum(&b0, &b1)));
        c1.iter_mut().zip(c0.iter()).for_each(|(c1, c0)| *c1 = c1.wrapping_sub(*c0));
        let reusable = self.insecure;
        let triple = |party, a, b, c| MatrixTriple { party, shape, nonce, a, b, c, reusable };
        Ok([triple(Party::Zero, a0, b0, c0), triple(Party::One, a1, b1, c1)])
    }
}

impl fmt::Debug for MatrixTriple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("MatrixTriple");
        out.field("party", &self.party).field("shape", &self.shape).finish_non_exhaustive()
    }
}
