"""Guards: what stands between a decided action and the business."""
