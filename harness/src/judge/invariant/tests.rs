//! Each rule with a history that it must reject, beside one that it must accept.
