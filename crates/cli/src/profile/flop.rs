//! Floating-point operations of ops, from their names and the sizes in their spans.
//!
//! - `gemm`: `2 m n k` for each matrix of the batch.
//! - `attention`: `4 queries keys dim` for each head of a batch, two products. Its backward pass
//!   has `10 queries keys dim`: the scores again, and four products.
//! - `gru_forward`: `6 batch hidden (inputs input + steps hidden)` for each member, where `inputs`
//!   is 1 if the inputs are constant, and `steps` otherwise. The backward pass has
//!   `6 batch steps hidden^2`.
//! - `rssm_rollout`: as `gru_forward`, `2 batch steps (hidden + stochastic)` for the head, and
//!   `2 batch (steps - 1) hidden input` for states that are fed back.
//! - `rssm_loss`: `2 rows (hidden + stochastic)` for each member.
//! - `tall_gram`: `rows cols (cols + 1)`; `tall_product`: `2 rows inner cols`.
//! - `chol_inverse`: `2 side^3 / 3`, a third each for the factor and its inverse (LAPACK Working
//!   Note 41).
//! - The ops of `PER_ELEMENT`: a number for each element of a view.
//!
//! Products count 2 for each multiplication with its addition, and leave out biases, activations,
//! masks and softmax. Per element, each addition, multiplication, division, comparison, root,
//! exponential, logarithm or activation counts 1.

/// Ops with a number of operations for each element of a view: the op, the view, the number.
const PER_ELEMENT: [(&str, &str, u64); 24] = [
    ("activate", "y", 1),
    ("activate_backward", "dx", 2),
    ("adam_step", "w", 12),
    ("add_layer_norm", "y", 8),
    ("axpby", "y", 3),
    ("binary", "y", 1),
    ("binary_scalar", "y", 1),
    ("cross_entropy", "dlogits", 6),
    ("cross_entropy_probs", "dlogits", 10),
    ("dropout", "y", 1),
    ("layer_norm", "y", 7),
    ("layer_norm_backward", "dx", 13),
    ("map", "y", 1),
    ("reduce", "x", 1),
    ("rms_norm", "y", 4),
    ("rms_norm_backward", "dx", 9),
    ("scale_columns", "y", 1),
    ("scale_loss", "y", 1),
    ("scatter_add", "g", 1),
    ("sgd_step", "w", 4),
    ("softmax", "y", 5),
    ("softmax_backward", "dx", 4),
    ("square_sums", "g", 2),
    ("sum_axis", "x", 1),
];

/// The floating-point operations of an op; `None` without a formula.
///
/// `params` and `views` are the fields of its span. A number beyond 64 bits is the greatest one.
pub(super) fn flop(op: &str, params: &str, views: &str) -> Option<u64> {
    let size = |name| number(params, name);
    match op {
        "gemm" => product([Some(2), list_product(params, "batch"), size("m"), size("n"), size("k")]),
        "attention" | "attention_backward" => {
            let products = if op == "attention" { 4 } else { 10 };
            let sizes = [size("batch"), size("heads"), size("queries"), size("keys"), size("dim")];
            product([Some(products), product(sizes)])
        }
        "gru_forward" => steps_of_gru(params, false),
        "gru_backward" => {
            product([Some(6), size("members"), size("batch"), size("steps"), size("hidden"), size("hidden")])
        }
        "rssm_rollout" => {
            let rows = product([Some(2), size("members"), size("batch")]);
            let is_fed_back = value(params, "feedback") == Some("State");
            let between = if is_fed_back { size("steps")?.saturating_sub(1) } else { 0 };
            let head = product([rows, size("steps"), combined(params)])?;
            let back = product([rows, Some(between), size("hidden"), size("input")])?;
            Some(steps_of_gru(params, is_fed_back)?.saturating_add(head).saturating_add(back))
        }
        "rssm_loss" => product([Some(2), size("members"), size("rows"), combined(params)]),
        "tall_gram" => product([size("rows"), size("cols"), size("cols").map(|cols| cols.saturating_add(1))]),
        "tall_product" => product([Some(2), size("rows"), size("inner"), size("cols")]),
        "chol_inverse" => Some(product([Some(2), size("side"), size("side"), size("side")])? / 3),
        _ => {
            let &(_, view, each) = PER_ELEMENT.iter().find(|(name, ..)| *name == op)?;
            product([Some(each), number(views, view)])
        }
    }
}

/// The products of the steps of gated recurrent units.
///
/// `varies` means that the inputs of each step differ, whatever their form.
fn steps_of_gru(params: &str, varies: bool) -> Option<u64> {
    let size = |name| number(params, name);
    let is_constant = !varies && ["Constant", "MemberConstants"].contains(&value(params, "inputs")?);
    let steps = size("steps")?;
    let inputs = if is_constant { steps.min(1) } else { steps };
    let of_inputs = product([Some(inputs), size("input")])?;
    let of_states = product([Some(steps), size("hidden")])?;
    product([Some(6), size("members"), size("batch"), size("hidden"), Some(of_inputs.saturating_add(of_states))])
}

/// Elements of a combined state.
fn combined(params: &str) -> Option<u64> {
    Some(number(params, "hidden")?.saturating_add(number(params, "stochastic")?))
}

fn product<const N: usize>(factors: [Option<u64>; N]) -> Option<u64> {
    factors.into_iter().try_fold(1u64, |product, factor| Some(product.saturating_mul(factor?)))
}

/// The values of a list such as `batch=[1, 2] m=16 activation=Relu`, with their names.
fn values(list: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = list;
    core::iter::from_fn(move || {
        let (before, after) = rest.split_once('=')?;
        let end = if after.starts_with('[') { after.find(']').map(|last| last + 1) } else { after.find(' ') };
        let (value, next) = after.split_at(end.unwrap_or(after.len()));
        rest = next;
        // The name is a word: a value in braces may end before it.
        Some((before.rsplit(' ').next().unwrap_or(before), value))
    })
}

fn value<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    values(list).find(|(found, _)| *found == name).map(|(_, value)| value)
}

fn number(list: &str, name: &str) -> Option<u64> {
    value(list, name)?.parse().ok()
}

/// The product of the numbers in a value such as `[1, 2]`.
fn list_product(list: &str, name: &str) -> Option<u64> {
    let inside = value(list, name)?.strip_prefix('[')?.strip_suffix(']')?;
    inside.split(", ").try_fold(1u64, |product, number| Some(product.saturating_mul(number.parse().ok()?)))
}

/// The sum of all numbers in a list such as `a=6 b=12`.
pub(super) fn list_sum(list: &str) -> u64 {
    values(list).filter_map(|(_, value)| value.parse::<u64>().ok()).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use backend_api::ops::{Access, Op};
    use cpu_backend::CpuQueue;

    use super::*;

    /// Counts `each` for every index of a box.
    fn counted<const N: usize>(sizes: [u64; N], each: u64) -> u64 {
        let mut count = 0;
        let boxes = sizes.iter().product::<u64>();
        for _ in 0..boxes {
            count += each;
        }
        count
    }

    #[test]
    fn lists_are_read_as_spans_show_them() {
        let list = "batch=[1, 2, 3, 4] m=16 part=Softmax { stride: 2 } activation=Relu";
        let all = [("batch", "[1, 2, 3, 4]"), ("m", "16"), ("part", "Softmax"), ("activation", "Relu")];
        assert_eq!(values(list).collect::<Vec<_>>(), all);
        assert_eq!((list_product(list, "batch"), number(list, "m"), number(list, "n")), (Some(24), Some(16), None));
        assert_eq!((list_sum("a=6 b=12"), list_sum("")), (18, 0));
        assert_eq!(values("").next(), None);
    }

    #[test]
    fn products_count_a_multiplication_and_an_addition_for_each_term() {
        let gemm = |batch: &str| flop("gemm", &format!("batch={batch} m=3 n=5 k=7 activation=Relu"), "a=21 b=35 c=15");
        assert_eq!(gemm("[1, 1, 1, 1]"), Some(counted([3, 5, 7], 2)));
        assert_eq!(gemm("[1, 1, 4, 2]"), Some(counted([8, 3, 5, 7], 2)));
        assert_eq!(gemm("[1, 1, 0, 2]"), Some(0));
        assert_eq!(flop("gemm", "m=3 n=5", ""), None);

        let params = "batch=2 heads=6 kv_heads=2 queries=4 keys=5 dim=8 causal=0";
        let of_products = |products: u64| counted([2, 6, 4, 5, 8], 2 * products);
        assert_eq!(flop("attention", params, ""), Some(of_products(2)));
        assert_eq!(flop("attention_backward", params, ""), Some(of_products(5)));
        let huge = format!("batch=[1, 1, 1, 1] m={0} n={0} k={0}", 1u64 << 40);
        assert_eq!(flop("gemm", &huge, ""), Some(u64::MAX));
    }

    #[test]
    fn recurrent_ops_multiply_inputs_and_states_with_three_gates() {
        let gru =
            |inputs: &str| format!("members=2 batch=3 steps=4 input=5 hidden=6 variant=ResetBefore inputs={inputs}");
        let (states, inputs) = (counted([2, 3, 4, 6, 3 * 6], 2), counted([2, 3, 5, 3 * 6], 2));
        for form in ["Sequence", "MemberSequences"] {
            assert_eq!(flop("gru_forward", &gru(form), ""), Some(states + 4 * inputs));
        }
        for form in ["Constant", "MemberConstants"] {
            assert_eq!(flop("gru_forward", &gru(form), ""), Some(states + inputs));
        }
        assert_eq!(flop("gru_backward", &gru("Constant"), ""), Some(states));

        let rollout =
            |feedback: &str| format!("{} stochastic=7 part=Zero head=Linear feedback={feedback}", gru("Constant"));
        let head = counted([2, 3, 4, 6 + 7], 2);
        assert_eq!(flop("rssm_rollout", &rollout("PerMember"), ""), Some(states + inputs + head));
        let back = counted([2, 3, 3, 6, 5], 2);
        assert_eq!(flop("rssm_rollout", &rollout("State"), ""), Some(states + 4 * inputs + head + back));
        assert_eq!(flop("rssm_loss", "members=2 rows=9 hidden=6 stochastic=7", ""), Some(counted([2, 9, 13], 2)));
    }

    #[test]
    fn factor_ops_count_the_triangle_that_they_compute() {
        let pairs: u64 = (0..5).map(|column| column + 1).sum();
        assert_eq!(flop("tall_gram", "rows=100 cols=5", ""), Some(counted([100, pairs], 2)));
        assert_eq!(flop("tall_product", "rows=100 inner=4 cols=5", ""), Some(counted([100, 4, 5], 2)));
        // Cholesky and the inverse of a triangle of 60 rows: n^3 / 3 each.
        assert_eq!(flop("chol_inverse", "side=60", ""), Some(2 * 72_000));
        assert_eq!(flop("jacobi_eigen", "side=60 kept=4", ""), None);
    }

    #[test]
    fn every_view_that_is_counted_is_of_its_op() {
        let mut views = Vec::new();
        macro_rules! real {
            ($t:ident) => {
                f32
            };
        }
        macro_rules! collect {
            ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident {
                $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
            }) => {
                $(<backend_api::ops::$module::$record<'static, CpuQueue $(, real!($t))?>>::describe(&mut |field| {
                    if field.access != Access::Parameter {
                        views.push((stringify!($method), field.name));
                    }
                });)*
            };
        }
        backend_api::op_sets!(collect);
        for (op, view, each) in PER_ELEMENT {
            assert!(views.contains(&(op, view)), "{op}: {view}");
            assert_eq!(flop(op, "", &format!("other=3 {view}=10")), Some(10 * each));
        }
        assert_eq!(flop("merkle_tree", "log_leaves=3", "nodes=15"), None);
    }
}
