"""The browser's own traces, with everything secret taken out before they are kept."""
