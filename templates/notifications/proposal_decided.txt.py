BBBB BBBB BBBBBBBBBBBBBBBBBBBBBB BBB gettext(u'Hello %(name)s,') SSSSS SSSSSSSSS

BB BBBBBBB BB BBBBBBBBB gettext(u'%(by)s approved %(title)s (%(reference)s). %(amount)s %(currency)s are committed for it. Tag its jobs with headroom_proposal=%(reference)s, so that their cost finds it.') SSSSSS SSSSSSSS SSSSSSSSS SSSSSSSSSSSSSSSS SSSSSSSSSS SSSSSSSSSSSS SSS SSSSSSSSS SSS SSS SSS SSS SSSS SSSS SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS SS SSSS SSSSS SSSS SSSSS SSSBBBB BBBBBBB BB BBBBBBBBBBBBBB gettext(u'%(by)s approved %(amount)s of %(ask)s %(currency)s for %(title)s (%(reference)s). Tag its jobs with headroom_proposal=%(reference)s, so that their cost finds it.') SSSSSS SSSSSSSS SSSSSSSSSS SS SSSSSSS SSSSSSSSSSSS SSS SSSSSSSSS SSSSSSSSSSSSSSSS SSS SSS SSSS SSSS SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS SS SSSS SSSSS SSSS SSSSS SSSBBBB BBBBBBB BB BBBBBBBB gettext(u'%(by)s rejected %(title)s (%(reference)s).') SSSSSS SSSSSSSS SSSSSSSSS SSSSSSSSSSSSSSSSBBBB gettext(u'%(by)s asks for changes to %(title)s (%(reference)s). Edit the plan and submit it again.') SSSSSS SSSS SSS SSSSSSS SS SSSSSSSSS SSSSSSSSSSSSSSSS SSSS SSS SSSS SSS SSSSSS SS SSSSSSBBBBB

BB BBBBBB gettext(u'Reason: %(reason)s') SSSSSSS SSSSSSSSSS

BBBBB
BBBBBBBBBBBBB