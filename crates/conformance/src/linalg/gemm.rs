use crate::OpSpec;

pub(super) fn specs<Q>() -> Vec<OpSpec<Q>> {
    Vec::new()
}
