//! Floating-point operations of ops, saturating: see [`Op::flop`](super::Op::flop).

use core_types::params::{
    attention::AttentionParams,
    gemm::GemmParams,
    recurrent::{Feedback, GruParams, RolloutParams},
};

/// `operations` for each of `elements`.
pub(in crate::ops) fn each(operations: u64, elements: usize) -> u64 {
    product(&[operations, elements as u64])
}

pub(in crate::ops) fn product(factors: &[u64]) -> u64 {
    factors.iter().fold(1, |product, &factor| product.saturating_mul(factor))
}

/// `2 m n k` for each matrix of the batch.
pub(in crate::ops) fn of_gemm(p: &GemmParams) -> u64 {
    product(&[2, p.m, p.n, p.k, product(&p.batch)])
}

/// `2 queries keys dim` for each product of each head.
pub(in crate::ops) fn of_attention(products: u64, p: &AttentionParams) -> u64 {
    product(&[2, products, p.batch, p.heads, p.queries, p.keys, p.dim])
}

/// `6 batch hidden (inputs input + steps hidden)` for each member.
///
/// `inputs` is the number of steps whose input is multiplied: three gates multiply it once.
pub(in crate::ops) fn of_gru(p: &GruParams, inputs: u64) -> u64 {
    let of_inputs = inputs.saturating_mul(p.input);
    product(&[6, p.members, p.batch, p.hidden, of_inputs.saturating_add(p.steps.saturating_mul(p.hidden))])
}

/// [`of_gru`] for inputs of one form: those that are constant are multiplied once.
pub(in crate::ops) fn of_gru_forward(p: &GruParams) -> u64 {
    of_gru(p, if p.inputs.is_constant() { p.steps.min(1) } else { p.steps })
}

/// The steps, the products of the head, and the map of states that are fed back.
///
/// The head has one product with each combined state. The last state is not mapped to features.
pub(in crate::ops) fn of_rollout(p: &RolloutParams) -> u64 {
    let gru = &p.gru;
    let is_fed_back = p.feedback == Feedback::State;
    let steps = if is_fed_back { of_gru(gru, gru.steps) } else { of_gru_forward(gru) };
    let between = if is_fed_back { gru.steps.saturating_sub(1) } else { 0 };
    let rows = product(&[2, gru.members, gru.batch]);
    let head = product(&[rows, gru.steps, gru.hidden.saturating_add(p.stochastic)]);
    steps.saturating_add(head).saturating_add(product(&[rows, between, gru.hidden, gru.input]))
}

#[cfg(test)]
mod tests {
    use core_types::params::{
        attention::HeadStrides,
        elementwise::{Activation, DropoutParams},
        gemm::MatrixStrides,
        recurrent::{GruInputs, GruVariant, LossHead, StateMask, Stochastic},
    };

    use super::*;

    /// Counts `operations` for every index of a box.
    fn counted<const N: usize>(sizes: [u64; N], operations: u64) -> u64 {
        (0..sizes.iter().product()).map(|_| operations).sum()
    }

    fn gemm(batch: [u64; 4], m: u64, n: u64, k: u64) -> u64 {
        let strides = MatrixStrides { batch: [0; 4], row: 1, col: 1 };
        let (activation, accumulate, alpha) = (Activation::Identity, 0, 1.0);
        of_gemm(&GemmParams {
            batch,
            m,
            n,
            k,
            a: strides,
            b: strides,
            c: strides,
            activation,
            accumulate,
            alpha,
            reserved: 0,
        })
    }

    #[test]
    fn products_count_a_multiplication_and_an_addition_for_each_term() {
        assert_eq!(gemm([1; 4], 3, 5, 7), counted([3, 5, 7], 2));
        assert_eq!(gemm([1, 1, 4, 2], 3, 5, 7), counted([8, 3, 5, 7], 2));
        assert_eq!(gemm([1, 1, 0, 2], 3, 5, 7), 0);
        assert_eq!(gemm([1; 4], 1 << 40, 1 << 40, 1 << 40), u64::MAX);

        let none = HeadStrides { batch: 0, head: 0, row: 0 };
        let dropout = DropoutParams { seed: 0, site: 0, step: 0, first: 0, threshold: 0, scale: 1.0 };
        let p = AttentionParams {
            batch: 2,
            heads: 6,
            kv_heads: 2,
            queries: 4,
            keys: 5,
            dim: 8,
            q: none,
            k: none,
            v: none,
            y: none,
            mask: none,
            causal_offset: 0,
            causal: 0,
            scale: 1.0,
            dropout,
        };
        assert_eq!([2, 5].map(|products| of_attention(products, &p)), [2, 5].map(|n| counted([2, 6, 4, 5, 8], 2 * n)));
    }

    #[test]
    fn recurrent_steps_multiply_inputs_and_states_with_three_gates() {
        let gru = |inputs| GruParams {
            members: 2,
            batch: 3,
            steps: 4,
            input: 5,
            hidden: 6,
            variant: GruVariant::ResetBefore,
            inputs,
        };
        let (states, inputs) = (counted([2, 3, 4, 6, 3 * 6], 2), counted([2, 3, 5, 3 * 6], 2));
        for form in [GruInputs::Sequence, GruInputs::MemberSequences] {
            assert_eq!(of_gru_forward(&gru(form)), states + 4 * inputs);
        }
        for form in [GruInputs::Constant, GruInputs::MemberConstants] {
            assert_eq!(of_gru_forward(&gru(form)), states + inputs);
        }

        let rollout = |feedback| RolloutParams {
            gru: gru(GruInputs::Constant),
            stochastic: 7,
            part: Stochastic::Zeros,
            head: LossHead::Linear,
            feedback,
            eps: 0.0,
            mask: StateMask::NONE,
        };
        let (head, back) = (counted([2, 3, 4, 6 + 7], 2), counted([2, 3, 3, 6, 5], 2));
        assert_eq!(of_rollout(&rollout(Feedback::PerMember)), states + inputs + head);
        assert_eq!(of_rollout(&rollout(Feedback::State)), states + 4 * inputs + head + back);
    }
}
