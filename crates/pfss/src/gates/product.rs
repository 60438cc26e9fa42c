use crate::{GateKind, KeyBundle, PfssError};

/// Rows of the words section behind the mask `[a]` of the first factor: `[b]`, `[a b]`.
const B_ROW: usize = 1;
const A_B_ROW: usize = 2;

impl KeyBundle {
    /// This party's additive shares of `x + a`, then of `y + b`, to be opened. Public once both parties' are added.
    ///
    /// # Errors
    /// [`PfssError::Kind`] for keys of another gate, [`PfssError::Length`] unless there are two factors per element.
    pub fn mask_factors(&self, x: &[u64], y: &[u64]) -> Result<Vec<u64>, PfssError> {
        self.check_use(GateKind::Product, x.len())?;
        self.check_use(GateKind::Product, y.len())?;
        let ring = self.gate().ring();
        let mask = |values: &[u64], row: usize| -> Vec<u64> {
            values.iter().zip(self.word_row(row)).map(|(&value, &mask)| ring.add(value, mask)).collect()
        };
        Ok([mask(x, 0), mask(y, B_ROW)].concat())
    }

    /// Additive shares of `x y`, from the opened `x_hat = x + a` and, behind them, `y_hat = y + b`:
    /// `x_hat y_hat - x_hat b - y_hat a + a b` (Beaver, CRYPTO 1991).
    ///
    /// # Errors
    /// As [`mask_factors`](Self::mask_factors).
    pub fn eval_product(self, opened: &[u64]) -> Result<Vec<u64>, PfssError> {
        let expected = 2 * self.count();
        if opened.len() != expected {
            return Err(PfssError::Length { what: "factors", expected, got: opened.len() });
        }
        self.check_use(GateKind::Product, self.count())?;
        let (x_hat, y_hat) = opened.split_at(self.count());
        let share = |e: usize| {
            let (x, y) = (x_hat[e], y_hat[e]);
            let masks = x.wrapping_mul(self.word_row(B_ROW)[e]).wrapping_add(y.wrapping_mul(self.word_row(0)[e]));
            let public = self.party().public(x.wrapping_mul(y));
            self.gate().ring().reduce(public.wrapping_sub(masks).wrapping_add(self.word_row(A_B_ROW)[e]))
        };
        Ok((0..self.count()).map(share).collect())
    }
}
