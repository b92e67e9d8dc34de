/** The ids of our commands. */
export const CommandIDs = {
  openPanel: 'jupyter-pernix:open-panel',
  newSession: 'jupyter-pernix:new-session',
  openSession: 'jupyter-pernix:open-session',
  openModels: 'jupyter-pernix:open-models',
  openRecord: 'jupyter-pernix:open-record',
  stopTurn: 'jupyter-pernix:stop-turn',
  pauseTurn: 'jupyter-pernix:pause-turn',
  resumeTurn: 'jupyter-pernix:resume-turn',
  compactSession: 'jupyter-pernix:compact-session',
  showPermissions: 'pernix:permissions',
  nextQuestion: 'pernix:next-question',
  takeTour: 'jupyter-pernix:take-tour',
  attachNotebook: 'pernix:attach-notebook',
  fixCell: 'pernix:fix-cell',
  explainCell: 'pernix:explain-cell',
  insertBelow: 'pernix:insert-below'
} as const;
