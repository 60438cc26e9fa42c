//! Every vector level and thread count against folds one by one, on sizes around vectors and tiles.

use backend_api::ops::fri::{FriFold, FriOps};
use core_types::{
    field::{M31, QM31},
    params::fri::FriFoldParams,
};
use cpu_backend::CpuQueue;

use super::{elements, tree};
use crate::levels::queues;

fn folded(q: &CpuQueue, params: FriFoldParams, challenge: QM31, values: &[M31]) -> Vec<M31> {
    let (_, inverse_twiddles) = tree(q, params.log_domain());
    let mut folded = vec![M31::ZERO; 4 << (params.log_size - params.folds)];
    q.fri_fold(FriFold {
        params: &params,
        inverse_twiddles: &inverse_twiddles,
        challenge: &[challenge],
        values,
        folded: &mut folded,
    })
    .unwrap();
    folded
}

#[test]
fn every_level_folds_many_times_as_once_after_the_other() {
    let queues = queues();
    for (log_size, on_circle) in (1..=7).chain([12, 14]).flat_map(|log_size| [(log_size, 0), (log_size, 1)]) {
        let values = elements(4 << log_size, 1);
        let mut alpha = QM31::from_coordinates([3, 1, 4, 15].map(M31::from_u32));
        let challenge = alpha;
        let mut expected = values.clone();
        for folds in 1..=log_size {
            let first = folds == 1;
            let one = FriFoldParams {
                log_size: log_size + 1 - folds,
                folds: 1,
                on_circle: if first { on_circle } else { 0 },
            };
            expected = folded(&queues[0], one, alpha, &expected);
            alpha *= alpha;
            for q in &queues {
                let got = folded(q, FriFoldParams { log_size, folds, on_circle }, challenge, &values);
                assert!(expected == got, "{folds} folds of 2^{log_size}, {q:?}");
            }
        }
    }
}
