//! Blocks of a domain: every size equals the processor's, in as few launches as there should be.

use backend_api::{
    BackendError, Buffer,
    ops::circle::{CircleOps, CircleRestrict},
};
use core_types::{field::M31, params::circle::CircleRestrictParams};

use super::{ORDERS, elements, framed, machine, processor, twiddles};

/// The values on a block, from the second word on, with words around them.
fn block_of<Q: CircleOps>(q: &Q, params: &CircleRestrictParams) -> Result<Vec<M31>, BackendError> {
    let [forward, _] = twiddles(q, params.log_domain)?;
    let columns = params.columns as usize;
    let (len, values_len) = (columns << params.log_coefficients, columns << params.log_block);
    let coefficients = q.upload(&framed(&elements(len, 4)))?;
    let mut values = q.upload(&framed(&elements(values_len, 7)))?;
    q.circle_restrict(CircleRestrict {
        params,
        twiddles: forward.view(),
        coefficients: coefficients.slice(1..len + 1)?,
        values: values.slice_mut(1..values_len + 1)?,
    })?;
    q.download(&values)
}

#[test]
fn blocks_equal_the_processors() {
    let cpu = processor();
    for order in ORDERS {
        let (session, queue) = machine(&format!("checks=sanitize;{order}"));
        let small = (1..=6).flat_map(|log_domain| {
            (0..=log_domain).flat_map(move |log| (1..=log_domain).map(move |log_block| (log, log_domain, log_block, 3)))
        });
        let large =
            [(12, 13, 11, 2), (13, 14, 12, 3), (14, 15, 13, 2), (9, 14, 12, 2), (13, 17, 15, 1), (13, 13, 2, 2)];
        for (log_coefficients, log_domain, log_block, columns) in
            small.chain(large).chain([(4, 5, 3, 0), (4, 5, 1, 257)])
        {
            let last = (1 << (log_domain - log_block)) - 1;
            for block in [0, last / 2, last] {
                let params = CircleRestrictParams { log_coefficients, log_domain, log_block, block, columns };
                assert!(block_of(&queue, &params).unwrap() == block_of(&cpu, &params).unwrap(), "{params:?}, {order}");
            }
        }
        drop(queue);
        assert_eq!(session.reports(), [], "{order}");
    }
}

/// The launch before it computes the weights.
#[test]
fn parts_are_added_up_by_the_first_launch_of_the_transform() {
    let cpu = processor();
    let (session, queue) = machine("");
    for (log_coefficients, log_domain, log_block, expected) in
        [(8, 9, 8, 1), (9, 10, 7, 2), (4, 5, 2, 2), (15, 16, 13, 3), (22, 22, 21, 3)]
    {
        let params = CircleRestrictParams { log_coefficients, log_domain, log_block, block: 1, columns: 1 };
        let launches = session.counters().launches;
        assert!(block_of(&queue, &params).unwrap() == block_of(&cpu, &params).unwrap(), "{params:?}");
        assert_eq!(session.counters().launches - launches, expected + 1, "with the twiddles: {params:?}");
    }
}
