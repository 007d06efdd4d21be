"""A motion as one page that plays in any browser: no server, no network, nothing to install.

`write` samples the motion and fills `page.html`; `scene` is what is seen, `view` where it is looked at from. In the
browser `drawing.js` draws it with WebGL, and `controls.js` lets people play, step and turn it.
"""

from qdot.animation.write import write_animation

__all__ = ["write_animation"]
